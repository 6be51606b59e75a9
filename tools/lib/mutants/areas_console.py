"""Mutants of what the console keeps from whoever should not see or do it."""

from mutant import Area

console = Area("console", "^ConsoleTests[.]")
CONSOLE = "Console/Console.swift"
console.expression("scope-is-not-asked", CONSOLE, "visit.owner.allows(needed)", "true")
console.expression("form-of-another-site-is-taken", CONSOLE, "request.isFromElsewhere", "false")
console.expression("renewal-is-shared-among-apps", CONSOLE, "visit.owner.app", "nil")
console.expression("renewal-is-shared-among-scopes", CONSOLE, "visit.owner.scopes", "[]")

console.expression("half-a-form-is-taken", CONSOLE, "form.isCut", "false")
console.expression("large-forms-are-kept", "Console/Pages/SignInPage.swift",
                   "fields.count <= mostKept && fields.reduce(0) { $0 + $1.utf8.count } <= mostKeptBytes", "true")

ENTRANCE = "Console/Access/Entrance.swift"
console.expression("form-token-is-not-checked", ENTRANCE, '!seal.isFormToken(form.raw(FormToken.name) ?? "", for: session.id)', "false",
                   at='if request.method == "POST", !seal.isFormToken(form.raw(FormToken.name) ?? "", for: session.id)')
console.expression("unknown-key-is-admitted", ENTRANCE, "owner.allows(.read)", "true")
console.expression("session-is-fixed", ENTRANCE, "Base64URL.encode(SecureRandom.bytes(16))", "session?.id ?? Base64URL.encode(SecureRandom.bytes(16))",
                   at="let session = ConsoleSession(\n            id: Base64URL.encode(SecureRandom.bytes(16))")
COOKIES = "Console/Access/Cookies.swift"
console.expression("anybody-sends-large-forms", COOKIES, "visitor != nil ? 64 << 10 : 16 << 10", "64 << 10")
console.expression("invented-visitor-is-known", COOKIES, "seal.isVisitor(text)", "true")
console.expression("signed-out-session-goes-on", COOKIES, "!memory.isOver(session.id)", "true")
console.expression("link-signs-in-again", ENTRANCE, "memory.end(link.id, expiresAt: link.expiresAt, now: request.now)", "true")
console.string("scripts-read-the-cookie", ENTRANCE, " HttpOnly;", "")
console.string("other-sites-bring-the-cookie", ENTRANCE, " SameSite=Strict;", "")

SESSION = "Console/Access/ConsoleSession.swift"
console.expression("session-never-expires", SESSION, "now < session.expiresAt ? session : nil", "session")
console.expression("link-is-a-session", SESSION, "Array(purpose.rawValue.utf8)", "[UInt8]()",
                   at="let context = Array(purpose.rawValue.utf8)\n        return")
console.expression("wrong-keys-are-not-counted", "Console/Access/ConsoleMemory.swift", "excess > 0 ? excess : nil", "nil")

HTML = "Console/HTML/HTML.swift"
console.expression("markup-is-not-escaped", HTML, '"&lt;"', '"<"')
console.expression("quote-is-not-escaped", HTML, '"&quot;"', '"\\""')
ADDRESS = "Console/HTML/Address.swift"
console.expression("address-leaves-the-console", ADDRESS, 'text == "/console" || text.hasPrefix("/console/") || text.hasPrefix("/console?")', "true")
console.expression("address-brings-fields", ADDRESS, '(0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\\\")', "$0 > 0")

ANSWER = "Console/Requests/ConsoleAnswer.swift"
console.string("pages-are-framed", ANSWER, "frame-ancestors 'none'", "frame-ancestors *")
console.string("inline-scripts-run", ANSWER, "script-src 'self'", "script-src 'self' 'unsafe-inline'")
console.expression("old-browsers-frame-pages", ANSWER, '"DENY"', '"SAMEORIGIN"')
console.expression("types-are-guessed", ANSWER, '"nosniff"', '""')
console.expression("pages-are-kept", ANSWER, ".never", ".forever", at="cache: Cache = .never")
console.expression("readers-share-a-token", ANSWER, "parts.count > 1", "false")

AREAS = [console]
