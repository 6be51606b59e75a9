import NIOHTTP1

/// What a connection makes of the head of a request. Pure.
enum RequestHeadRules {
    /// What makes a head unclear about its host or about the end of its body; nil for a clear one.
    ///
    /// NIO's decoder lets these pass.
    static func fault(in head: HTTPRequestHead) -> HTTPParserError? {
        // It asks for a tunnel, and the bytes behind it belong to that.
        if head.method == .CONNECT { return .invalidMethod }
        let isCurrent = head.version == .http1_1
        // RFC 9112 §3.2
        let hosts = head.headers["host"].count
        if hosts > 1 || hosts == 0 && isCurrent { return .invalidHeaderToken }
        // RFC 9112 §6.1: this server knows no other coding, and HTTP/1.0 has none.
        let codings = head.headers[canonicalForm: "transfer-encoding"]
        if !codings.isEmpty, !isCurrent || codings.count > 1 || codings[0].lowercased() != "chunked" {
            return .unexpectedContentLength
        }
        return nil
    }

    /// Whether NIO's decoder stops behind this request: the rule of its parser, llhttp.
    static func offersProtocol(_ head: HTTPRequestHead) -> Bool {
        head.headers["upgrade"].contains { !$0.isEmpty }
            && ["connection", "proxy-connection"].contains { name in
                head.headers[name].contains { $0.utf8.split(separator: UInt8(ascii: ",")).contains(where: isUpgrade) }
            }
    }

    /// llhttp passes over blanks and tabulators before a word, and over blanks behind it.
    private static func isUpgrade(_ item: Substring.UTF8View) -> Bool {
        var word = item.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        while word.last == UInt8(ascii: " ") { word.removeLast() }
        return Substring(word).lowercased() == "upgrade"
    }

    /// Whether the caller sends the body only when it is told to (RFC 9110 §10.1.1).
    static func awaitsContinue(_ head: HTTPRequestHead) -> Bool {
        head.version == .http1_1 && head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
    }
}
