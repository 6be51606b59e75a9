import NIOCore
import NIOHTTP1

/// Fired down the pipeline when the first byte of a request arrives.
package struct RequestBegan: Sendable {
    package init() {}
}

/// Decodes the requests of a connection one after the other.
///
/// NIO's decoder stops for good after a request that offers another protocol (`Upgrade`), because the following bytes
/// could belong to that protocol. Tally's servers never accept such an offer, so the bytes are the next request (RFC
/// 9110 §7.8). This decoder then continues with a new NIO decoder.
final class RequestDecoder: ByteToMessageDecoder {
    typealias InboundOut = HTTPServerRequestPart

    private let limits: NIOHTTPDecoderLimitConfiguration
    private var decoder: HTTPRequestDecoder
    private var isInRequest = false
    private var hasStopped = false

    init(limits: NIOHTTPDecoderLimitConfiguration) {
        self.limits = limits
        decoder = HTTPRequestDecoder(limitConfiguration: limits)
    }

    /// The last part of a request has been decoded.
    ///
    /// - Parameter offersProtocol: whether NIO's decoder stops after it.
    func requestEnded(offersProtocol: Bool) {
        isInRequest = false
        hasStopped = offersProtocol
    }

    func decoderAdded(context: ChannelHandlerContext) {
        decoder.decoderAdded(context: context)
    }

    func decoderRemoved(context: ChannelHandlerContext) {
        decoder.decoderRemoved(context: context)
    }

    func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        if !isInRequest {
            isInRequest = true
            context.fireUserInboundEventTriggered(RequestBegan())
        }
        // NIO's decoder always asks for more data. It leaves the bytes that it needs again in the buffer.
        _ = try decoder.decode(context: context, buffer: &buffer)
        guard hasStopped else { return .needMoreData }
        hasStopped = false
        decoder.decoderRemoved(context: context)
        decoder = HTTPRequestDecoder(limitConfiguration: limits)
        decoder.decoderAdded(context: context)
        return buffer.readableBytes > 0 ? .continue : .needMoreData
    }

    func decodeLast(
        context: ChannelHandlerContext,
        buffer: inout ByteBuffer,
        seenEOF: Bool
    ) throws -> DecodingState {
        while buffer.readableBytes > 0, case .continue = try decode(context: context, buffer: &buffer) {}
        return try decoder.decodeLast(context: context, buffer: &buffer, seenEOF: seenEOF)
    }
}
