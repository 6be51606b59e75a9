import HTTP2Engine
import Reactor

/// One connection to the simulated Apple. Runs on the event loop.
final class AppleConnection: HTTP2ServerHandler {
    private let simulation: Simulation
    private let role: ListenerRole
    private let loop: EventLoop
    /// Numbers the connections of all listeners, for faults.
    private let number: Int
    private var memory = ConnectionMemory()

    init(simulation: Simulation, role: ListenerRole, loop: EventLoop, number: Int) {
        self.simulation = simulation
        self.role = role
        self.loop = loop
        self.number = number
    }

    func received(_ request: HTTP2Request, responder: HTTP2Responder) {
        var headers = RequestHeaders()
        for field in request.fields.all {
            headers.add(name: field.name, value: field.value)
        }
        let question = APNSRequest(
            environment: role.environment,
            api: role.api,
            method: request.method,
            path: request.path,
            headers: headers,
            body: request.body
        )
        let reaction = simulation.receive(question, memory: &memory, connection: number)
        reply(reaction.reply, by: responder)
        if let limit = reaction.streamLimit {
            responder.connection?.setMaximumConcurrentStreams(limit)
        }
        if let farewell = reaction.farewell {
            responder.connection?.goAway(
                code: HTTP2ErrorCode(rawValue: farewell.code),
                debugData: farewell.debugData
            )
        }
    }

    func closed(_ connection: HTTP2ServerConnection, error: HTTP2Error?) {}

    private func reply(_ reply: Reaction.Reply, by responder: HTTP2Responder) {
        switch reply {
        case .answer(let answer):
            responder.respond(answer)
        case .answerLater(let answer, let milliseconds):
            loop.schedule(after: .milliseconds(milliseconds)) { responder.respond(answer) }
        case .silence:
            break
        case .reset(let code):
            responder.reset(HTTP2ErrorCode(rawValue: code))
        case .drop:
            responder.connection?.drop()
        }
    }
}

extension HTTP2Responder {
    fileprivate func respond(_ answer: AppleAnswer) {
        do {
            try respond(
                status: answer.status,
                fields: answer.headers.map { HTTP2Header($0.name, $0.value) },
                body: answer.body
            )
        } catch {
            // Only the made-up answer of a fault can be impossible to send.
            reset(.internalError)
        }
    }
}
