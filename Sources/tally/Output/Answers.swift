import APITypes
import JSON

/// How an answer is shown to people.
protocol Presentable {
    var text: String { get }
    var json: JSONValue { get }
}

/// How one item of a list is shown to people.
protocol Listable: APIValue & Hashable {
    static var columns: [Table.Column] { get }
    var row: [String] { get }
}

extension Session {
    /// Prints an answer as asked for.
    func show(_ answer: some Presentable) {
        json ? Console.print(json: answer.json) : Console.print(answer.text)
    }

    /// Prints a page; where it ends, the way on is said beside it.
    func show(_ page: Page<some Listable>) {
        guard !json else {
            Console.print(json: page.json)
            return
        }
        Console.print(page.table.text(width: Console.outputWidth))
        if let cursor = page.nextCursor { Console.printError("More follow: --cursor \(cursor)") }
    }

    /// Prints one of many that come one after the other: a line for people, or a line of JSON.
    func show(line text: String, json value: JSONValue) {
        Console.print(json ? value.text : text)
    }

    /// Says that something was done for which there is no answer; as JSON, nothing is said.
    func show(done text: String) {
        if !json { Console.print(text) }
    }
}

extension Console {
    /// Prints JSON: on a terminal for reading, elsewhere in one line.
    static func print(json: JSONValue) {
        print(outputIsTerminal ? json.indentedText : json.text)
    }
}

extension Page where Item: Listable {
    var table: Table { Table(columns: Item.columns, rows: items.map(\.row)) }
}
