import CNGHTTP2
import Testing

@testable import HTTP2Engine

/// libnghttp2's decoder reads what our encoder writes.
@Suite("Header blocks of our own session")
struct HeaderEncoderTests {
    /// Encodes one request as the session does.
    private func block(_ encoder: inout HeaderEncoder, _ headers: SharedHeaders, path: String) -> [UInt8] {
        var output = OutputBuffer(capacity: 16)
        encoder.append(headers, Array(path.utf8), to: &output)
        return Array(output.bytes)
    }

    private func headers(_ fields: [HTTP2Header], method: String = "POST") throws -> SharedHeaders {
        try SharedHeaders(method: method, authority: "localhost", pathPrefix: "/3/device/", fields: fields)
    }

    private func decode(_ decoder: HeaderDecoder, _ block: [UInt8]) -> [HTTP2Header]? {
        var fields: [HTTP2Header] = []
        let isWhole = block.withUnsafeBytes { bytes in
            decoder.decode(bytes, isLast: true) { name, value in
                fields.append(
                    HTTP2Header(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
                )
            }
        }
        return isWhole ? fields : nil
    }

    private let push = [
        HTTP2Header("authorization", "bearer secret"), HTTP2Header("apns-topic", "com.example"),
        HTTP2Header("apns-id", "0123"),
    ]

    @Test("a second request is a few bytes, its path and its provider token")
    func repeated() throws {
        var encoder = HeaderEncoder()
        let decoder = try HeaderDecoder(memory: nil)
        let headers = try headers(push)
        let blocks = (0..<3).map { _ in block(&encoder, headers, path: "abcd") }
        for block in blocks {
            let wanted = [(":method", "POST"), (":scheme", "https"), (":authority", "localhost")]
            let fields = wanted.map { HTTP2Header($0.0, $0.1) } + [HTTP2Header(":path", "/3/device/abcd")] + push
            #expect(decode(decoder, block) == fields)
        }
        #expect(blocks[1] == blocks[2])
        // :method, :scheme, :authority and apns-topic are an index each.
        let path: [UInt8] = [4, 14] + "/3/device/abcd".utf8
        let token: [UInt8] = [0x1f, 8, 13] + "bearer secret".utf8
        let id: [UInt8] = [0, 7] + "apns-id".utf8 + [4] + "0123".utf8
        #expect(blocks[1] == [0x83, 0x87, 0xbf] + path + token + [0xbe] + id)
    }

    @Test("path, provider token and ids never enter the table")
    func literals() throws {
        var encoder = HeaderEncoder()
        var sizes: [Int] = []
        for number in 0..<50 {
            let headers = try headers([
                HTTP2Header("authorization", "bearer \(1000 + number)"), HTTP2Header("apns-topic", "com.example"),
                HTTP2Header("apns-collapse-id", "\(1000 + number)"),
            ])
            sizes.append(block(&encoder, headers, path: "\(1000 + number)").count)
        }
        #expect(Set(sizes.dropFirst()).count == 1)
        #expect(sizes[0] > sizes[1])
    }

    @Test("more fields than the table holds still arrive")
    func eviction() throws {
        var encoder = HeaderEncoder()
        let decoder = try HeaderDecoder(memory: nil)
        let all = try (0..<30).map { number in
            try headers((0..<4).map { HTTP2Header("name-\(number)-\($0)", String(repeating: "v", count: 300)) })
        }
        for _ in 0..<3 {
            for headers in all {
                let fields = decode(decoder, block(&encoder, headers, path: "x"))
                #expect(fields?.dropFirst(4).map(\.name) == headers.fieldNames)
            }
        }
    }

    @Test("a changed table size is said at the beginning of the next block, the smallest one first")
    func tableSize() throws {
        var encoder = HeaderEncoder()
        let headers = try headers(push)
        _ = block(&encoder, headers, path: "x")
        encoder.setTableSize(0)
        #expect(block(&encoder, headers, path: "x").first == 0x20)
        #expect(block(&encoder, headers, path: "x").first == 0x83)
        encoder.setTableSize(100)
        encoder.setTableSize(50)
        encoder.setTableSize(70)
        #expect(block(&encoder, headers, path: "x").prefix(4) == [0x3f, 19, 0x3f, 39])
        // More than the encoder uses is the same as what it uses.
        encoder.setTableSize(1 << 30)
        #expect(block(&encoder, headers, path: "x").prefix(3) == [0x3f, 0xe1, 0x1f])
        encoder.setTableSize(4096)
        #expect(block(&encoder, headers, path: "x").first == 0x83)
    }

    @Test("a table that shrinks and grows between two blocks loses its entries at both ends")
    func shrunk() throws {
        var encoder = HeaderEncoder()
        let decoder = try HeaderDecoder(memory: nil)
        let headers = try headers(push, method: "DELETE")
        let first = decode(decoder, block(&encoder, headers, path: "x"))
        encoder.setTableSize(0)
        encoder.setTableSize(4096)
        #expect(decode(decoder, block(&encoder, headers, path: "x")) == first)
        #expect(decode(decoder, block(&encoder, headers, path: "x")) == first)
    }
}

extension SharedHeaders {
    fileprivate var fieldNames: [String] {
        marks.dropFirst(Self.pseudoHeaders).map { mark in
            String(decoding: buffer[mark.name..<mark.value], as: UTF8.self)
        }
    }
}
