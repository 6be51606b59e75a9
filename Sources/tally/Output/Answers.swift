import APITypes
import JSON

/// An answer that can be printed for people.
protocol Presentable {
    var text: String { get }
    var json: JSONValue { get }
}

/// A list item that can be printed for people.
protocol Listable: APIValue & Hashable {
    static var columns: [Table.Column] { get }
    var row: [String] { get }
}

extension CommandSession {
    /// Prints an answer for people or as JSON.
    func show(_ answer: some Presentable) {
        json ? Terminal.print(json: answer.json) : Terminal.print(answer.text)
    }

    /// Prints a page. If more pages follow, also prints to standard error how to get them.
    func show(_ page: Page<some Listable>) {
        guard !json else { return Terminal.print(json: page.json) }
        Terminal.print(page.table.text(width: format == .wide ? nil : Terminal.outputWidth))
        if let cursor = page.nextCursor { Terminal.printError("More follow: --cursor \(cursor)") }
    }

    /// Prints one of a series of values: a line for people, or a line of JSON.
    func show(line text: String, json value: JSONValue) {
        Terminal.print(json ? value.text : text)
    }

    /// Reports a success without an answer. Prints nothing with `--json`.
    func show(done text: String) {
        if !json { Terminal.print(text) }
    }
}

extension Terminal {
    /// Prints JSON, indented on a terminal and on one line elsewhere.
    static func print(json: JSONValue) {
        print(outputIsTerminal ? json.indentedText : json.text)
    }
}

extension Page where Item: Listable {
    var table: Table { Table(columns: Item.columns, rows: items.map(\.row)) }
}
