/// The text of one Swift file.
package struct SwiftSource: Sendable, Hashable {
    /// The most bytes that all sources of one import may have together.
    package static let maximumBytes = 256 * 1024

    /// What the author knows the file by; it stands in messages.
    package let name: String
    /// What is in it.
    package let text: String

    /// Names a text.
    package init(name: String, text: String) {
        self.name = name
        self.text = text
    }
}

/// Where something stands in a Swift source.
package struct SourcePlace: Sendable, Hashable, CustomStringConvertible {
    /// The name of the source.
    package let file: String
    /// Counted from 1.
    package let line: Int
    /// Counted from 1, in bytes of UTF-8, as the compiler does.
    package let column: Int

    /// A place.
    package init(file: String, line: Int, column: Int) {
        self.file = file
        self.line = line
        self.column = column
    }

    /// `FILE:LINE:COLUMN`, as the compiler writes it.
    package var description: String { "\(file):\(line):\(column)" }
}
