// Signs a ticket for one device. It needs: npm install jose.

import { readFile } from "node:fs/promises";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { SignJWT, importPKCS8 } from "jose";

// `activities`: check before that the user may see each. Undefined: those of the device and the user.
export async function ticket({ app, keyId, algorithm, secret, device, user, activities, days = 30 }) {
  const key = algorithm === "ES256" ? await importPKCS8(secret, algorithm) : new TextEncoder().encode(secret);
  const jwt = new SignJWT({ environment: "production", device_id: device, activities })
    .setProtectedHeader({ alg: algorithm, kid: keyId })
    .setAudience(app)
    .setIssuedAt()
    .setExpirationTime(`${days}d`);
  if (user !== undefined) jwt.setSubject(user);
  return jwt.sign(key);
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const [app, keyId, algorithm, secretFile, device, user] = argv.slice(2);
  const secret = (await readFile(secretFile, "utf8")).trim();
  console.log(await ticket({ app, keyId, algorithm, secret, device, user }));
}
