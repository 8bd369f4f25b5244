"use strict";
// Starts `genie-dp grammar editor` for skills and templates; all that it knows comes from there.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function activate() {
  const [command, ...args] = workspace.getConfiguration("genie-dp").get("command");
  client = new LanguageClient(
    "genie-dp",
    "genie_dp",
    { command, args },
    { documentSelector: [{ scheme: "file", language: "genie" }, { scheme: "file", language: "genie-skill" }] },
  );
  await client.start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
