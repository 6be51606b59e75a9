// Parses and validates one document over and over with ajv: ajv_validator.cjs SCHEMA VALID INVALID SECONDS
"use strict";

const fs = require("node:fs");
const Ajv = require("ajv");

const batch = 1000;
const [schema, valid, invalid] = process.argv.slice(2, 5).map((path) => fs.readFileSync(path));
const validate = new Ajv().compile(JSON.parse(schema));
const isValid = (text) => validate(JSON.parse(text));

if (!isValid(valid) || isValid(invalid)) throw new Error("the verdict is wrong");
for (let warmUp = 0; warmUp < 20 * batch; warmUp++) isValid(valid);
const limit = Number(process.argv[5]) * 1e6;
const began = process.cpuUsage();
let documents = 0;
let spent = 0;
while (spent < limit) {
  for (let one = 0; one < batch; one++) if (!isValid(valid)) throw new Error("the verdict has changed");
  documents += batch;
  const usage = process.cpuUsage(began);
  spent = usage.user + usage.system;
}
console.log(JSON.stringify({ documents, cpu_seconds: spent / 1e6 }));
