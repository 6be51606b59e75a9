package import HummingbirdCore
package import Logging
package import NIOCore
package import NIOHTTP1
package import NIOHTTPTypes
import HTTPTypes
import NIOHTTPTypesHTTP1

/// One HTTP/1 connection of a server, the daemon's or the simulator's.
///
/// In place of Hummingbird's own, whose decoder reads nothing behind a request with `Upgrade`.
package struct HTTP1Connection: HTTPChannelHandler {
    package typealias Value = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

    package let responder: HTTPChannelHandler.Responder
    private let limits: NIOHTTPDecoderLimitConfiguration
    private let handlers: @Sendable () -> [any ChannelHandler]

    /// - Parameters:
    ///   - limits: what a head may be; NIO's own limits by default.
    ///   - handlers: made for each connection; they see requests and answers.
    ///   - responder: answers a request.
    package init(
        limits: NIOHTTPDecoderLimitConfiguration = NIOHTTPDecoderLimitConfiguration(),
        handlers: @escaping @Sendable () -> [any ChannelHandler] = { [] },
        responder: @escaping HTTPChannelHandler.Responder
    ) {
        self.limits = limits
        self.handlers = handlers
        self.responder = responder
    }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            try Self.addDecoding(to: channel.pipeline.syncOperations, limits: limits)
            try channel.pipeline.syncOperations.addHandler(HTTP1ToHTTPServerCodec(secure: false))
            try channel.pipeline.syncOperations.addHandlers(handlers())
            // Ends the connection once the server is told to stop.
            try channel.pipeline.syncOperations.addHandler(HTTPConnectionStateHandler(logger: logger))
            return try Value(
                wrappingChannelSynchronously: channel,
                configuration: .init(isOutboundHalfClosureEnabled: true)
            )
        }
    }

    package func handle(value: Value, logger: Logger) async {
        await handleHTTP(asyncChannel: value, logger: logger)
    }

    /// Tells the caller whose request is next to be answered to send the body.
    package static func proceed(on channel: any Channel) async throws {
        try await channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue))).get()
    }

    /// Bytes become parts of requests, and parts of answers bytes.
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
