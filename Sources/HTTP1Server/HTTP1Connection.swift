package import HummingbirdCore
package import Logging
package import NIOCore
package import NIOHTTP1
package import NIOHTTPTypes
import HTTPTypes
import NIOHTTPTypesHTTP1

/// One HTTP/1 connection of a server, the daemon's or the simulator's.
///
/// Replaces Hummingbird's own, whose decoder stops after a request with `Upgrade`.
package struct HTTP1Connection: HTTPChannelHandler {
    package typealias Value = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

    package let responder: HTTPChannelHandler.Responder
    private let limits: NIOHTTPDecoderLimitConfiguration
    private let handlers: @Sendable () -> [any ChannelHandler]

    /// - Parameters:
    ///   - limits: the limits of a request head; NIO's own by default.
    ///   - handlers: created for each connection; they see requests and answers.
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
            // Closes the connection when the server stops.
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

    /// Sends `100 Continue` to the caller whose request is answered next.
    package static func proceed(on channel: any Channel) async throws {
        try await channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue))).get()
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
