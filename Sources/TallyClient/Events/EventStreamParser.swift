/// Parses server-sent events (HTML Living Standard, §9.2.6) from bytes as they arrive. Pure.
struct EventStreamParser {
    /// The result of one block of lines.
    struct Message: Equatable {
        /// The newest `id` so far. Blocks without data can change it, too.
        var id: String?
        /// Nil for a block that only changes the id.
        var data: String?
    }

    /// A line or block that is longer than Tally ever sends.
    struct TooLong: Error {}

    private static let longest = 4 << 20

    private var line: [UInt8] = []
    private var data: [UInt8]?
    private var id: String?
    /// Whether the last byte was a carriage return. A line feed after it belongs to the same line end.
    private var endsInReturn = false

    /// Parses more bytes.
    ///
    /// - Returns: The completed blocks, in order.
    mutating func take(_ bytes: some Sequence<UInt8>) throws(TooLong) -> [Message] {
        var messages: [Message] = []
        for byte in bytes {
            let followsReturn = endsInReturn
            endsInReturn = byte == UInt8(ascii: "\r")
            switch byte {
            case UInt8(ascii: "\n") where followsReturn: break
            case UInt8(ascii: "\r"), UInt8(ascii: "\n"):
                if let message = try endLine() { messages.append(message) }
            default:
                guard line.count < Self.longest else { throw TooLong() }
                line.append(byte)
            }
        }
        return messages
    }

    /// - Returns: The block that an empty line completes.
    private mutating func endLine() throws(TooLong) -> Message? {
        defer { line.removeAll(keepingCapacity: true) }
        guard !line.isEmpty else {
            defer { data = nil }
            return Message(id: id, data: data.map { String(decoding: $0, as: UTF8.self) })
        }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "data":
            let before = data.map { $0 + [UInt8(ascii: "\n")] } ?? []
            guard before.count + value.count <= Self.longest else { throw TooLong() }
            data = before + value
        case "id":
            if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        default:
            // Comments and unused fields. The event's kind is also in its data.
            break
        }
        return nil
    }
}
