internal import HTTP2Engine
internal import Reactor
internal import TLSEngine

extension APNSEndpoint {
    /// Prepares a connection to this endpoint for use on `loop` only, without any I/O before its `connect()`.
    ///
    /// - `handler`: a weak reference.
    func connection(
        on loop: EventLoop,
        context: TLSContext,
        limits: HTTP2ClientConfiguration,
        handler: any HTTP2ClientHandler
    ) -> HTTP2ClientConnection {
        HTTP2ClientConnection(
            loop: loop,
            context: context,
            host: host,
            port: port,
            configuration: limits,
            handler: handler
        )
    }
}
