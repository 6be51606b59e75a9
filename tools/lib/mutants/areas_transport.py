"""Mutants of the client's own HTTP/2 session: windows, SETTINGS, header tables, ends of connections, damaged frames."""

from mutant import Area

SESSION = "HTTP2Engine/Session/Tally"
STATE = f"{SESSION}/TallyClientState.swift"
CONTROL = f"{SESSION}/TallyClientState+Control.swift"
RECEIVING = f"{SESSION}/TallyClientState+Receiving.swift"
RESPONSES = f"{SESSION}/TallyClientState+Responses.swift"
SENDING = f"{SESSION}/TallyClientState+Sending.swift"
TABLE = f"{SESSION}/HeaderTable.swift"

http2 = Area("http2", "^HTTP2EngineTests[.].*(Session|Encoder|Limit|Differential|Fuzz|Hostile|StreamTable)")
http2.expression("cancelled-fields-stay", f"{SESSION}/RequestFlow.swift", "!request.extra.isEmpty || !extra.isEmpty", "!request.extra.isEmpty")
http2.expression("connection-window-is-ignored", SENDING, "min(window, flows[slot].window, FrameHead.maximumPayload)", "min(flows[slot].window, FrameHead.maximumPayload)")
http2.expression("stream-window-is-ignored", SENDING, "min(window, flows[slot].window, FrameHead.maximumPayload)", "min(window, FrameHead.maximumPayload)")
http2.statement("connection-window-is-not-counted", SENDING, "window -= count\n", "\n", at="window -= count\n        flows")
http2.expression("stream-limit-is-ignored", SENDING, "activeStreams < settings.maximumConcurrentStreams", "true")
http2.expression("frame-size-is-ignored", SENDING, "settings.maximumFrame", "1 << 24")
http2.statement("settings-do-not-move-windows", CONTROL, "flows[slot].window += difference\n", "\n")
http2.expression("window-may-overflow", CONTROL, "window <= ServerSettings.largestWindow", "true", at="guard window <= ServerSettings.largestWindow else {\n                throw SessionFault(.flowControlError, \"WINDOW_UPDATE")
http2.expression("goaway-takes-back-its-last-stream", CONTROL, "flows[slot].stream > last", "flows[slot].stream >= last")
http2.expression("goaway-may-name-a-later-stream", CONTROL, "last <= streams.pointee.lastProcessed", "true")
http2.statement("settings-are-not-acknowledged", CONTROL, "control.append(FrameHead(type: .settings, flags: .acknowledgement, stream: 0, length: 0))")
http2.expression("pings-may-flood", CONTROL, "acknowledgements < Self.maximumAcknowledgements", "true")
http2.expression("push-is-taken", CONTROL, "promised > lastPromised", "true")
http2.expression("padding-may-be-longer", RECEIVING, "1 + extra + Int(padding) <= payload.count", "1 + extra <= payload.count")
http2.expression("padding-is-read-as-body", RECEIVING, "Int(padding)", "0", at=".dropLast(Int(padding))")
http2.expression("frames-may-be-too-long", RECEIVING, "head.length <= FrameHead.maximumPayload", "true")
http2.expression("block-may-be-interrupted", RECEIVING, "head.type != .continuation || head.stream != block.stream", "false")
http2.expression("first-frame-may-be-any", RECEIVING, "!hasSettings", "false")
http2.expression("continuations-without-end", RESPONSES, "begun.continuations <= HeaderBlock.maximumContinuations", "true")
http2.expression("received-window-is-not-kept", RESPONSES, "received <= Self.connectionWindow", "true")
http2.expression("window-is-given-back-too-late", RESPONSES, "received >= Self.connectionWindow / 2", "false")
http2.expression("body-may-be-short", RESPONSES, "flows[slot].rules.bodyEnds()", "true")
http2.expression("numbers-never-run-out", STATE, "nextStream > UInt32(Int32.max)", "false")
http2.expression("table-grows-with-the-offer", TABLE, "min(offered, Self.largestLimit)", "offered")
http2.expression("smallest-table-is-unsaid", TABLE, "smallest < limit ? [smallest, limit] : [limit]", "[limit]")
http2.expression("table-is-not-emptied", TABLE, "size > allowed", "false")

AREAS = [http2]
