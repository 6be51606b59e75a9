/// The text of one Swift file.
package struct SwiftSource: Sendable, Hashable {
    /// The maximum size of all sources of one import together, in bytes.
    package static let maximumBytes = 256 * 1024

    /// The file name that messages show.
    package let name: String
    /// The content of the file.
    package let text: String

    /// Creates a source.
    package init(name: String, text: String) {
        self.name = name
        self.text = text
    }
}

/// A location in a Swift source.
package struct SourcePlace: Sendable, Hashable, CustomStringConvertible {
    /// The name of the source.
    package let file: String
    /// Counted from 1.
    package let line: Int
    /// Counted from 1, in bytes of UTF-8, as the compiler does.
    package let column: Int

    /// Creates a location.
    package init(file: String, line: Int, column: Int) {
        self.file = file
        self.line = line
        self.column = column
    }

    /// `FILE:LINE:COLUMN`, as the compiler writes it.
    package var description: String { "\(file):\(line):\(column)" }
}
