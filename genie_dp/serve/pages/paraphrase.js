// Says what is wrong while somebody writes, sends without losing the text, and keeps drafts.
// Without it the page works, too: the server looks at what is sent, and answers with the page.
"use strict";
const PAUSE = 350; // milliseconds without a key before the server is asked
const form = document.querySelector("form[data-key]");
const fields = form ? Array.from(form.querySelectorAll("textarea")) : [];
const notice = document.getElementById("notice");
let waiting = 0, asked = 0, sending = false;

function texts() { return fields.map((field) => field.value); }

function show(remarks) {
  fields.forEach((field, index) => {
    const box = document.getElementById(field.id.replace("text", "remark"));
    const found = remarks[index] || [];
    const bad = found.some((remark) => !remark.is_warning);
    if (bad) field.setAttribute("aria-invalid", "true"); else field.removeAttribute("aria-invalid");
    const said = Array.from(box.children, (line) => line.textContent).join("\n");
    // What is said already is not said again.
    if (said === found.map((remark) => remark.message).join("\n")) return;
    box.replaceChildren(...found.map((remark) => {
      const line = document.createElement("p");
      line.className = remark.is_warning ? "warning" : "fault";
      line.textContent = remark.message;
      return line;
    }));
  });
}

async function check() {
  const number = ++asked;
  try {
    const answer = await fetch("/check", {
      method: "POST",
      headers: { "Content-Type": "application/json", "Accept": "application/json", "X-Form-Token": form.elements.token.value },
      body: JSON.stringify({ key: Number(form.dataset.key), texts: texts() }),
    });
    // An answer to what stood there before is no answer.
    if (answer.ok && number === asked && !sending) show((await answer.json()).remarks);
  } catch (error) {
    // The server is away: sending will say so.
  }
}

function keepDraft() {
  try {
    localStorage.setItem(form.dataset.draft, JSON.stringify(texts()));
  } catch (error) {
    // No storage, no drafts.
  }
}

function takeDraft() {
  try {
    const kept = JSON.parse(localStorage.getItem(form.dataset.draft) || "[]");
    fields.forEach((field, index) => { if (typeof kept[index] === "string") field.value = kept[index]; });
    if (kept.length) check();
  } catch (error) {
    // Nothing was kept.
  }
}

function dropDraft() {
  try { localStorage.removeItem(form.dataset.draft); } catch (error) { /* none was kept */ }
}

function setSending(now) {
  sending = now;
  form.querySelectorAll("button").forEach((button) => button.setAttribute("aria-disabled", String(now)));
}

async function send(action) {
  if (sending) return;
  setSending(true);
  clearTimeout(waiting);
  asked++;
  notice.textContent = "";
  const body = new URLSearchParams(new FormData(form));
  body.set("action", action);
  let problem = "The server does not answer. Your text is still here: send it again in a moment.";
  try {
    // The buttons are called `action`, so `form.action` would be one of them.
    const answer = await fetch(form.getAttribute("action"), { method: "POST", headers: { "Accept": "application/json" }, body: body });
    const said = await answer.json();
    if (answer.ok) {
      dropDraft();
      location.assign(said.next);
      return;
    }
    problem = said.notice;
    if (said.remarks) show(said.remarks);
    const bad = fields.find((field) => field.hasAttribute("aria-invalid"));
    if (bad) bad.focus();
  } catch (error) {
    // The sentence above says it.
  }
  notice.textContent = problem;
  setSending(false);
}

function onKey(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  const next = fields[fields.indexOf(event.target) + 1];
  if (next && !event.ctrlKey && !event.metaKey) next.focus(); else send("save");
}

if (form) {
  takeDraft();
  fields.forEach((field) => {
    field.addEventListener("input", () => {
      keepDraft();
      clearTimeout(waiting);
      waiting = setTimeout(check, PAUSE);
    });
    field.addEventListener("keydown", onKey);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(event.submitter ? event.submitter.value : "save");
  });
}
