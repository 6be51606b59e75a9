import NIOHTTP1

/// Rules for the head of a request. Pure.
enum RequestHeadRules {
    /// The error of a head that leaves its host or the end of its body unclear; nil for a clear head.
    ///
    /// NIO's decoder accepts such heads.
    static func fault(in head: HTTPRequestHead) -> HTTPParserError? {
        // CONNECT asks for a tunnel, and the bytes after it belong to the tunnel.
        if head.method == .CONNECT { return .invalidMethod }
        let isCurrent = head.version == .http1_1
        // RFC 9112 §3.2
        let hosts = head.headers["host"].count
        if hosts > 1 || hosts == 0 && isCurrent { return .invalidHeaderToken }
        // RFC 9112 §6.1: this server supports only chunked, and HTTP/1.0 has no transfer codings.
        let codings = head.headers[canonicalForm: "transfer-encoding"]
        if !codings.isEmpty, !isCurrent || codings.count > 1 || codings[0].lowercased() != "chunked" {
            return .unexpectedContentLength
        }
        return nil
    }

    /// Whether NIO's decoder stops after this request. This is the rule of its parser, llhttp.
    static func offersProtocol(_ head: HTTPRequestHead) -> Bool {
        head.headers["upgrade"].contains { !$0.isEmpty }
            && ["connection", "proxy-connection"].contains { name in
                head.headers[name].contains { $0.utf8.split(separator: UInt8(ascii: ",")).contains(where: isUpgrade) }
            }
    }

    /// llhttp skips spaces and tabs before a word, and spaces after it.
    private static func isUpgrade(_ item: Substring.UTF8View) -> Bool {
        var word = item.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        while word.last == UInt8(ascii: " ") { word.removeLast() }
        return Substring(word).lowercased() == "upgrade"
    }

    /// Whether the caller waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1).
    static func awaitsContinue(_ head: HTTPRequestHead) -> Bool {
        head.version == .http1_1 && head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
    }
}
