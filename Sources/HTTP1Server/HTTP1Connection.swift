package import NIOCore
package import NIOHTTP1

/// How a connection of a server is set up: what it takes, and who answers.
package struct HTTP1Connection: Sendable {
    /// Answers one request. A thrown error closes the connection.
    package typealias Responder = @Sendable (HTTPCall) async throws -> HTTPAnswer

    private let limits: NIOHTTPDecoderLimitConfiguration
    private let handlers: @Sendable () -> [any ChannelHandler]
    let responder: Responder

    /// - Parameters:
    ///   - limits: the limits of a request head; NIO's own by default.
    ///   - handlers: created for each connection; they see the parts of requests and answers.
    ///   - responder: answers a request. It runs on the connection's event loop.
    package init(
        limits: NIOHTTPDecoderLimitConfiguration = NIOHTTPDecoderLimitConfiguration(),
        handlers: @escaping @Sendable () -> [any ChannelHandler] = { [] },
        responder: @escaping Responder
    ) {
        self.limits = limits
        self.handlers = handlers
        self.responder = responder
    }

    /// Adds the handlers of a new connection. Called on its event loop.
    ///
    /// - Returns: What the connection's task serves.
    /// - Throws: An error of NIO if the connection has closed meanwhile.
    func setUp(_ channel: any Channel) throws -> AcceptedConnection {
        let pipeline = channel.pipeline.syncOperations
        try Self.addDecoding(to: pipeline, limits: limits)
        try pipeline.addHandlers(handlers())
        let calls = CallHandler()
        try pipeline.addHandler(calls)
        return AcceptedConnection(calls, loop: channel.eventLoop)
    }

    /// Adds handlers that turn bytes into request parts, and answer parts into bytes.
    static func addDecoding(
        to pipeline: ChannelPipeline.SynchronousOperations,
        limits: NIOHTTPDecoderLimitConfiguration
    ) throws {
        let decoder = RequestDecoder(limits: limits)
        try pipeline.addHandlers([
            HTTPResponseEncoder(),
            ByteToMessageHandler(decoder),
            ExchangeHandler(decoder: decoder),
        ])
    }
}
