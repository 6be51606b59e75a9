import Testing

@testable import HTTP1Server

/// Behind a request that offers another protocol the next one is read, whatever it is and however it comes.
@Suite("Requests with Upgrade")
struct UpgradeTests {
    private static let offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
    /// One behind the other, with bodies of both kinds and without.
    private static let pipeline =
        "GET /1 HTTP/1.1\r\nHost: a\r\n\(offer)\r\n"
        + "POST /2 HTTP/1.1\r\nHost: a\r\n\(offer)Content-Length: 5\r\n\r\nhello"
        + "POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\(offer)\r\n5\r\nhello\r\n0\r\nX-Trailer: y\r\n\r\n"
        + "GET /4 HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
        + "\r\nGET /5 HTTP/1.1\r\nHost: a\r\n\r\n"
        + "POST /6 HTTP/1.1\r\nHost: a\r\n\(offer)Content-Length: 0\r\n\r\n"
        + "GET /7 HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let requests = [
        "GET /1 ", "POST /2 hello", "POST /3 hello", "GET /4 ", "GET /5 ", "POST /6 ", "GET /7 ",
    ]

    @Test("are followed by others, all at once")
    func atOnce() throws {
        let connection = try Connection()
        try connection.receive(Self.pipeline)
        #expect(try connection.requests() == Self.requests)
        try connection.close()
    }

    @Test("are followed by others, wherever the bytes are cut in two")
    func cutInTwo() throws {
        let bytes = Array(Self.pipeline.utf8)
        for place in 1..<bytes.count {
            let connection = try Connection()
            try connection.receive(bytes[..<place])
            try connection.receive(bytes[place...])
            #expect(try connection.requests() == Self.requests, "cut at \(place)")
            try connection.close()
        }
    }

    @Test("are followed by others, byte by byte")
    func byteByByte() throws {
        let connection = try Connection()
        for byte in Self.pipeline.utf8 { try connection.receive([byte]) }
        #expect(try connection.requests() == Self.requests)
        try connection.close()
    }

    @Test(
        "are those of NIO's parser: whatever it makes of the fields, the next request is read",
        arguments: [
            "Connection: upgrade", "Connection: UPGRADE", "Connection: keep-alive,Upgrade", "Connection: a, upgrade ,b",
            "Connection: keep-alive\r\nConnection: upgrade", "Proxy-Connection: upgrade",
            "Connection: upgrade x", "Connection: xupgrade", "Connection: upgradex", "Connection: \"upgrade\"",
            "Connection:upgrade", "Connection: ,upgrade,", "Connection: upgrade;q=1",
            "Connection:", "Connection: upgrade\t", "Connection: \tupgrade", "X: y",
        ],
        ["Upgrade: h2c", "upgrade: websocket, h2c", "Upgrade:", "X-Upgrade: h2c", "Upgrade: h2c\r\nUpgrade: x"]
    )
    func fields(connection field: String, upgrade: String) throws {
        for fields in ["\(field)\r\n\(upgrade)", "\(upgrade)\r\n\(field)"] {
            let connection = try Connection()
            let next = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n"
            // Cut in the middle of the next one.
            try connection.receive("POST / HTTP/1.1\r\nHost: a\r\n\(fields)\r\nContent-Length: 2\r\n\r\n{}GE")
            try connection.receive(String(next.dropFirst(2)) + next)
            #expect(try connection.requests() == ["POST / {}", "GET /next ", "GET /next "])
            try connection.close()
        }
    }
}
