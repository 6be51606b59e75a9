import NIOHTTP1
import Testing

@testable import HTTP1Server

/// What requests and answers have to do with each other.
@Suite("Exchanges on a connection")
struct ExchangeTests {
    private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let announced = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n"

    @Test("The answer to HEAD has the fields and no body, of known length or in chunks; the next has its own")
    func head() throws {
        let connection = try Connection()
        try connection.receive("HEAD /1 HTTP/1.1\r\nHost: a\r\n\r\nHEAD /2 HTTP/1.1\r\nHost: a\r\n\r\n" + Self.get)
        #expect(
            try connection.answer(.ok, ["Content-Length": "5"], body: "hello")
                == "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
        )
        #expect(try connection.answer(.ok, body: "hello") == "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        #expect(
            try connection.answer(.ok, ["Content-Length": "5"], body: "hello")
                == "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
        )
        #expect(connection.isOpen)
        try connection.close()
    }

    @Test("A caller that was told to send its body goes on on the connection")
    func told() throws {
        let connection = try Connection()
        try connection.receive(Self.announced)
        #expect(try connection.answer(.continue) == "HTTP/1.1 100 Continue\r\n\r\n")
        try connection.receive("{}" + Self.get)
        #expect(try connection.answer(.ok, ["Content-Length": "0"]) == "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(try connection.requests() == ["POST / {}", "GET / "])
        #expect(connection.isOpen)
        try connection.close()
    }

    @Test("One that was not told may send it or not: the answer ends the connection, and nothing behind it is read")
    func notTold() throws {
        let connection = try Connection()
        try connection.receive(Self.announced)
        let answer = try connection.answer(.unauthorized, ["Content-Length": "0"])
        #expect(answer == "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nconnection: close\r\n\r\n")
        #expect(!connection.isOpen)
    }

    @Test("One that did not wait has sent it, and goes on on the connection")
    func didNotWait() throws {
        let connection = try Connection()
        try connection.receive(Self.announced + "{}")
        let answer = try connection.answer(.unauthorized, ["Content-Length": "0"])
        #expect(answer == "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
        #expect(connection.isOpen)
        try connection.close()
    }

    @Test(
        "The connection ends after the answer to a caller that wants no more of it",
        arguments: ["GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"]
    )
    func last(request: String) throws {
        let connection = try Connection()
        try connection.receive(request)
        #expect(try connection.answer(.noContent) == "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        #expect(!connection.isOpen)
        try connection.close()
    }

    @Test(
        "A head that does not say whom it is for, or where its body ends, is an error, and nothing behind it is read",
        arguments: [
            "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n", "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ]
    )
    func refused(request: String) throws {
        for behind in ["", Self.get] {
            let connection = try Connection()
            #expect(throws: HTTPParserError.self) { try connection.receive(Self.get + request + behind) }
            #expect(try connection.requests() == ["GET / "])
            // It may complain once more, and reads nothing.
            try? connection.receive(Self.get)
            #expect(try connection.requests() == ["GET / "])
        }
    }

    @Test(
        "A head that says it in its own way is taken",
        arguments: [
            "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nhost:\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked \r\n\r\n0\r\n\r\n",
        ]
    )
    func taken(request: String) throws {
        let connection = try Connection()
        try connection.receive(request)
        #expect(try connection.requests() == ["GET / "])
        try connection.close()
    }
}
