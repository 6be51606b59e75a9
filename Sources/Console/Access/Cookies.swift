/// What the cookies of a request say of its sender.
struct Cookies: Sendable {
    let request: ConsoleRequest
    let seal: SessionSeal
    let memory: ConsoleMemory

    // `__Host-` makes a browser refuse a cookie that another host of the domain planted. It needs TLS.
    var sessionName: String { request.isSecure ? "__Host-tally-session" : "tally-session" }
    var visitorName: String { request.isSecure ? "__Host-tally-visitor" : "tally-visitor" }

    /// The session, unless it is over.
    var session: ConsoleSession? {
        guard let text = request.cookie(sessionName) else { return nil }
        guard let session = seal.open(text, for: .session, now: request.now), !memory.isOver(session.id) else {
            return nil
        }
        return session
    }

    /// The cookie of a visitor who has seen the sign-in form; nil if it was not made here.
    var visitor: String? {
        guard let text = request.cookie(visitorName), seal.isVisitor(text) else { return nil }
        return text
    }

    /// The most bytes of a form.
    ///
    /// A visitor sends a form that was kept (``SignInPage/canKeep(_:)``), percent-encoded once more.
    var bodyLimit: Int {
        if session != nil { return 256 << 10 }
        return visitor != nil ? 64 << 10 : 16 << 10
    }
}
