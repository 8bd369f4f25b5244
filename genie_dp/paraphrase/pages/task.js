// What both pages share: read the data, build elements without any markup from it, find the form.
function dataOf(element) {
  try {
    return JSON.parse(decodeURIComponent(element.dataset.task || ""));
  } catch (error) {
    return null; // an empty cell of the last task, or a page that is looked at without a batch
  }
}
function add(parent, name, properties) {
  const element = Object.assign(document.createElement(name), properties || {});
  parent.appendChild(element);
  return element;
}
// Platforms put the page into a form with a button; a page that stands alone gets its own.
function formOf(task) {
  const around = task.closest("form");
  if (around) return around;
  const form = document.createElement("form");
  task.parentNode.insertBefore(form, task);
  form.appendChild(task);
  add(form, "button", { type: "submit", textContent: "Submit" });
  return form;
}
