// Puts the answer into the page without loading it again, and keeps what was asked, here alone.
// Without it the page works, too: the server answers the form with the whole page.
"use strict";
const MOST_RECENT = 8;
const form = document.getElementById("ask");
const field = document.getElementById("sentence");
const place = document.getElementById("answer");
const recent = document.getElementById("recent");
const button = form.querySelector("button");
let asked = 0, said = [];

function setBusy(now) {
  place.setAttribute("aria-busy", String(now));
  button.setAttribute("aria-disabled", String(now));
}

function show(html) {
  // The server has escaped it; a parsed document runs no script, and the page allows none inline.
  const made = new DOMParser().parseFromString(html, "text/html");
  place.replaceChildren(...made.body.childNodes);
}

function showAway() {
  const card = document.createElement("section");
  card.className = "card problem";
  card.setAttribute("role", "alert");
  const title = document.createElement("h2");
  title.textContent = "The server does not answer";
  const words = document.createElement("p");
  words.textContent = "Your sentence is still here: send it again in a moment.";
  card.append(title, words);
  place.replaceChildren(card);
}

function remember(sentence) {
  said = [sentence, ...said.filter((other) => other !== sentence)].slice(0, MOST_RECENT + 1);
  const others = said.slice(1);
  recent.hidden = others.length === 0;
  recent.querySelector("ul").replaceChildren(...others.map((other) => {
    const chip = document.createElement("button");
    chip.type = "button";
    chip.className = "chip";
    chip.textContent = other;
    chip.addEventListener("click", () => ask(other));
    const item = document.createElement("li");
    item.append(chip);
    return item;
  }));
}

async function ask(sentence, context = {}) {
  const number = ++asked;
  field.value = sentence;
  setBusy(true);
  try {
    const answer = await fetch("/answer", { method: "POST", body: new URLSearchParams({ ...context, sentence: sentence }) });
    const html = await answer.text();
    // Whoever asked something else meanwhile wants only that.
    if (number !== asked) return;
    // What is refused before it comes to the page, such as one connection too many, is no HTML.
    const isPage = (answer.headers.get("Content-Type") || "").startsWith("text/html");
    if (isPage) show(html); else showAway();
    const question = document.getElementById("reply");
    if (question) question.focus();
    if (answer.ok) remember(sentence);
  } catch (error) {
    if (number === asked) showAway();
  } finally {
    if (number === asked) setBusy(false);
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (field.value.trim()) ask(field.value.trim());
});
// A question of the answer is answered in its own field.
place.addEventListener("submit", (event) => {
  event.preventDefault();
  const { sentence, ...context } = Object.fromEntries(new FormData(event.target));
  if (sentence.trim()) ask(sentence.trim(), context);
});
document.querySelectorAll("button[data-sentence]").forEach((chip) => {
  chip.closest("form").addEventListener("submit", (event) => {
    event.preventDefault();
    field.focus();
    ask(chip.dataset.sentence);
  });
});
// What the page came with, where it was sent before this script ran.
if (field.value && place.querySelector(".said")) said = [field.value];
