import NIOCore

/// Cuts bytes into lines as they arrive. Pure.
struct LineSplitter {
    enum Step: Equatable {
        /// A line without its end.
        case line([UInt8])
        /// The next line has not arrived completely.
        case incomplete
        /// The next line has more bytes than allowed.
        case tooLong
    }

    private let longest: Int
    private var bytes = ByteBuffer()
    /// How many of the bytes hold no end of a line.
    private var searched = 0

    /// - Parameter longest: the most bytes of a line.
    init(longest: Int) {
        self.longest = longest
    }

    mutating func append(_ part: ByteBuffer) {
        guard part.readableBytes > 0 else { return }
        guard bytes.readableBytes > 0 else {
            bytes = part
            return
        }
        // Otherwise the lines that were handed out would stay in memory.
        bytes.discardReadBytes()
        bytes.writeImmutableBuffer(part)
    }

    mutating func next() -> Step {
        let view = bytes.readableBytesView
        guard let end = view[(view.startIndex + searched)...].firstIndex(of: UInt8(ascii: "\n")) else {
            searched = view.count
            return searched > longest ? .tooLong : .incomplete
        }
        let line = view[..<end]
        guard line.count <= longest else { return .tooLong }
        bytes.moveReaderIndex(forwardBy: line.count + 1)
        searched = 0
        return .line(Array(line.last == UInt8(ascii: "\r") ? line.dropLast() : line))
    }

    /// How many bytes are left, with or without an end of a line.
    var count: Int { bytes.readableBytes }

    /// How much memory the bytes take.
    var capacity: Int { bytes.capacity }

    /// The last line, which nothing ended; empty if there is none.
    mutating func rest() -> [UInt8] {
        defer { (bytes, searched) = (ByteBuffer(), 0) }
        return Array(bytes.readableBytesView)
    }
}
