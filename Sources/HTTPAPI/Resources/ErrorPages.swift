import APITypes

/// Pages about the error codes, made of the tables in `docs/reference/errors.md`.
struct ErrorPages: Sendable {
    /// A row of a table: one code, or several with the same cause.
    struct Entry: Sendable {
        let status: String
        let codes: [String]
        /// Markdown.
        let cause: String
        /// Markdown.
        let remedy: String
    }

    /// In the order of the document.
    let entries: [Entry]

    /// Every code of the document.
    var codes: [String] { entries.flatMap(\.codes) }

    static let ofTheAPI = ErrorPages(markdown: Documents.errors_md.description)

    /// Reads every row with the four cells status, codes, cause and what to do.
    init(markdown: String) {
        entries = markdown.split(separator: "\n").compactMap { line in
            let cells = line.dropFirst(2).dropLast(2).split(separator: " | ").map(String.init)
            guard cells.count == 4, Int(cells[0]) != nil else { return nil }
            let codes = cells[1].split(separator: ", ").map { String($0.dropFirst().dropLast()) }
            return Entry(status: cells[0], codes: codes, cause: cells[2], remedy: cells[3])
        }
    }

    /// The page about one code; nil if the document does not have it.
    func page(for code: String) -> String? {
        guard let entry = entries.first(where: { $0.codes.contains(code) }) else { return nil }
        return Self.frame(
            title: Problem.title(of: code),
            toStyle: "../style.css",
            """
            <p><a href="../../docs">HTTP API</a> / <a href="../errors">Errors</a></p>
            <h1><code>\(code)</code></h1>
            <p>Status \(entry.status): \(Problem.title(of: code)).</p>
            <h2>Cause</h2>
            <p>\(Self.html(entry.cause)).</p>
            <h2>What to do</h2>
            <p>\(Self.html(entry.remedy)).</p>
            """
        )
    }

    /// The page with all codes.
    var list: String {
        let rows = entries.flatMap { entry in
            entry.codes.map { code in
                """
                <dt><a href="errors/\(code)"><code>\(code)</code></a> <span>\(entry.status)</span></dt>
                <dd>\(Self.html(entry.cause)).</dd>
                """
            }
        }
        return Self.frame(
            title: "Errors",
            toStyle: "style.css",
            """
            <p><a href="../docs">HTTP API</a></p>
            <h1>Errors</h1>
            <p>An error is <code>application/problem+json</code> (RFC 9457). Its <code>type</code> leads to one of these pages.</p>
            <dl>
            \(rows.joined(separator: "\n"))
            </dl>
            """
        )
    }

    private static func frame(title: String, toStyle style: String, _ body: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(title) – Tally</title>
        <link rel="stylesheet" href="\(style)">
        </head>
        <body>
        <main class="narrow">
        \(body)
        </main>
        </body>
        </html>

        """
    }

    /// A cell as HTML: code between backticks, and links as their text, because their targets are not served.
    private static func html(_ markdown: String) -> String {
        let escaped = markdown.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        let unlinked = escaped.replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.output.1 }
        let coded = unlinked.replacing(/`([^`]*)`/) { "<code>\($0.output.1)</code>" }
        return coded.prefix(1).uppercased() + coded.dropFirst()
    }
}
