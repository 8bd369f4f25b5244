"use strict";
// Colours shipped files with the grammars, and compares some words with what they should be.
//   npm install --no-save vscode-textmate vscode-oniguruma && node test/scopes.js
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

const here = path.join(__dirname, "..");
const root = path.join(here, "..", "..");
const EXPECTED = {
  "source.genie": {
    "thingpedia/com.gmail/templates.genie": [
      ["NP := 'my unread emails'", "NP", "entity.name.type"],
      ["NP := 'my unread emails'", "my unread emails", "string.quoted.single"],
      ["for @com.gmail;", "for", "keyword.other"],
      ["for @com.gmail;", "@com.gmail", "entity.name.type"],
      ["NP := 'my unread emails'", "inbox", "entity.name.function"],
      ["-> monitor (inbox()", "monitor", "keyword.other"],
      ["('gmail')? 'inbox'", "?", "keyword.operator.optional"],
      ["NP := 'my unread emails'", "filter", "keyword.other"],
      ["NP := 'my unread emails'", "true", "constant.language"],
      ["emails labeled ${l:const}", "${l:const}", "variable.parameter"],
      ["labels contains $l", "$l", "variable.parameter"],
      ["// inbox", " inbox", "comment.line.double-slash"],
      ["send_email(to = $a", "subject", "variable.parameter"],
    ],
    "thingpedia/com.bbc/templates.genie": [["\\(c : Enum", "Enum", "support.type"]],
    "grammars/en/commands.genie": [
      ["COMMAND := ('find' | 'find me' | 'get me'", "q", "variable.other"],
      ["COMMAND := ('find' | 'find me' | 'get me'", "NP", "entity.name.type"],
      ["COMMAND := ('find' | 'find me' | 'get me'", "num", "entity.other.attribute-name"],
      ["if q.is_list #[id=\"command.find\"]", "if", "keyword.control"],
      ["if q.is_list #[id=\"command.find\"]", "id", "entity.other.attribute-name"],
      ["if q.is_list #[id=\"command.find\"]", "command.find", "string.quoted.double"],
    ],
    "grammars/en/categories.genie": [
      ["category COMMAND", "category", "keyword.other"],
      ["category COMMAND", "COMMAND", "entity.name.type"],
      ["category COMMAND", "root", "storage.modifier"],
    ],
    "grammars/en/main.genie": [["import \"commands.genie\"", "import", "keyword.control.import"]],
  },
  "source.genie-skill": {
    "thingpedia/com.gmail/skill.tt": [
      ["class @com.gmail", "@com.gmail", "entity.name.type"],
      ["monitorable list query inbox(", "inbox", "entity.name.function"],
      ["out sender : EmailAddress", "sender", "variable.parameter"],
      ["out sender : EmailAddress", "EmailAddress", "support.type"],
      ["verb=[\"{mentions/mention} #\"", "{mentions/mention}", "constant.other.inflection"],
      ["#[doc=\"Sends an email.\"]", "doc", "entity.other.attribute-name"],
      ["in req to : EmailAddress", "in req", "storage.modifier"],
    ],
  },
};

// What no shipped file says.
const LINES = [
  ["source.genie", "NP := 'a' -> @x.y();", "@x.y", "entity.name.function"],
  ["source.genie-skill", "  unit drop of volume = 0.05 ml;", "drop", "entity.name.type"],
  ["source.genie-skill", "  unit drop of volume = 0.05 ml;", "0.05", "constant.numeric"],
];

async function main() {
  const wasm = fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const files = { "source.genie": "genie", "source.genie-skill": "skill" };
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async (scope) => {
      const file = path.join(here, "syntaxes", `${files[scope]}.tmLanguage.json`);
      return textmate.parseRawGrammar(fs.readFileSync(file, "utf8"), file);
    },
  });
  let checked = 0;
  for (const [scope, texts] of Object.entries(EXPECTED)) {
    const grammar = await registry.loadGrammar(scope);
    for (const [file, cases] of Object.entries(texts)) {
      const lines = fs.readFileSync(path.join(root, file), "utf8").split("\n");
      const found = cases.map(() => false);
      let stack = textmate.INITIAL;
      for (const line of lines) {
        const { tokens, ruleStack } = grammar.tokenizeLine(line, stack);
        stack = ruleStack;
        cases.forEach(([inLine, word, expected], number) => {
          if (!line.includes(inLine)) return;
          const named = tokens.filter((t) => line.slice(t.startIndex, t.endIndex).includes(word));
          if (named.some((t) => t.scopes.includes(expected))) found[number] = true;
        });
      }
      cases.forEach((one, number) => assert(found[number], `${file}: ${one.join(" / ")}`));
      assert.strictEqual(stack.depth, 1, `${file}: something is still open at its end`);
      checked += cases.length;
    }
  }
  for (const [scope, line, word, expected] of LINES) {
    const { tokens } = (await registry.loadGrammar(scope)).tokenizeLine(line, textmate.INITIAL);
    const named = tokens.filter((t) => line.slice(t.startIndex, t.endIndex).includes(word));
    assert(named.some((t) => t.scopes.includes(expected)), `${line}: ${word} / ${expected}`);
    checked += 1;
  }
  const all = fs.readdirSync(path.join(root, "thingpedia"));
  for (const skill of all) {
    for (const [name, scope] of [["templates.genie", "source.genie"], ["skill.tt", "source.genie-skill"]]) {
      const file = path.join(root, "thingpedia", skill, name);
      if (!fs.existsSync(file)) continue;
      const grammar = await registry.loadGrammar(scope);
      let stack = textmate.INITIAL;
      for (const line of fs.readFileSync(file, "utf8").split("\n")) stack = grammar.tokenizeLine(line, stack).ruleStack;
      assert.strictEqual(stack.depth, 1, `${file}: something is still open at its end`);
      checked += 1;
    }
  }
  console.log(`${checked} checks passed`);
}

main();
