import ActivityModel
import JSON

extension World {
    /// Receives a request: checks the faults, then the rules, and then carries it out.
    mutating func receive(
        _ request: APNSRequest,
        memory: inout ConnectionMemory,
        connection: Int,
        settings: SimulationSettings,
        at now: ClockReading
    ) -> (Reaction, [FollowUp]) {
        let effect = faults.isEmpty ? nil : faults.effect(on: subject(of: request, connection), now: now.milliseconds)
        switch effect {
        case .answer(let refusal):
            count(request, status: refusal.status, reason: refusal.reason)
            return (Reaction(reply: .answer(answer(refusal, to: request))), [])
        case .silence:
            return (Reaction(reply: .silence), [])
        case .refuseStream:
            return (Reaction(reply: .reset(code: 7)), [])
        case .reset(let code):
            return (Reaction(reply: .reset(code: code)), [])
        case .dropConnection:
            return (Reaction(reply: .drop), [])
        case nil, .lostAnswer, .delay, .goAway, .streamLimit:
            break
        }

        let isFirstSuccess = memory.authorization == nil
        let (answer, followUps) = process(request, memory: &memory, at: now)
        var reaction = Reaction(reply: .answer(answer))
        // Apple: one stream until a request with a valid token has succeeded.
        if isFirstSuccess, memory.authorization != nil {
            reaction.streamLimit = settings.streamLimit
        }
        let streams = memory.authorization == nil ? 1 : settings.streamLimit
        let consequence = memory.errors.note(
            answer.status,
            reason: answer.reason,
            at: now.seconds,
            streams: streams,
            limits: settings.penalties
        )
        switch consequence {
        case .none: break
        case .limit(let limit): reaction.streamLimit = limit
        case .close: reaction.farewell = Reaction.Farewell(code: 0, reason: answer.reason ?? "")
        }
        switch effect {
        case .lostAnswer: reaction.reply = .silence
        case .delay(let milliseconds): reaction.reply = .answerLater(answer, milliseconds: milliseconds)
        case .goAway(let code, let reason): reaction.farewell = Reaction.Farewell(code: code, reason: reason)
        case .streamLimit(let limit): reaction.streamLimit = limit
        default: break
        }
        return (reaction, followUps)
    }

    private mutating func process(
        _ request: APNSRequest,
        memory: inout ConnectionMemory,
        at now: ClockReading
    ) -> (AppleAnswer, [FollowUp]) {
        let warnings = readToken(request.headers.authorization)
        switch Rules.judge(request, on: memory, in: self, now: now.milliseconds) {
        case .refused(let refusal):
            count(request, status: refusal.status, reason: refusal.reason)
            return (answer(refusal, to: request), warnings)
        case .accepted(let acceptance):
            if case .token(let token) = credential(request.headers.authorization) {
                memory.noteAccepted(
                    authorization: request.headers.authorization ?? "",
                    token: token,
                    at: now.seconds
                )
            }
            let (answer, followUps) = carryOut(acceptance, of: request, at: now)
            return (answer, warnings + followUps)
        }
    }

    private mutating func carryOut(
        _ acceptance: Acceptance,
        of request: APNSRequest,
        at now: ClockReading
    ) -> (AppleAnswer, [FollowUp]) {
        let environment = request.environment
        switch acceptance {
        case .push(let token):
            let body = body(request.body)
            count(request, status: 200, reason: nil)
            let push = Shipment(body: body, priority: request.priority, expiration: request.expiration)
            let followUps = deliver(push, token: token, in: environment, at: now)
            return (answer(200, to: request), followUps)
        case .broadcast(_, let channelID):
            let body = body(request.body)
            count(request, status: 200, reason: nil)
            let push = Shipment(body: body, priority: request.priority, expiration: request.expiration)
            let followUps = broadcast(push, channelID: channelID, at: now)
            return (answer(200, to: request), followUps)
        case .createChannel(let bundleID, let storage):
            let id = createChannel(bundleID: bundleID, environment: environment, storage: storage)
            var answer = answer(201, to: request)
            answer.headers.append(AppleAnswer.Header("apns-channel-id", id))
            return (answer, [])
        case .readChannel(_, _, let storage):
            let body: JSONValue = [
                "message-storage-policy": .number(JSONNumber(storage == .none ? 0 : 1)), "push-type": "LiveActivity",
            ]
            return (answer(200, to: request, json: body), [])
        case .deleteChannel(_, let channelID):
            deleteChannel(channelID)
            return (answer(204, to: request), [])
        case .listChannels(let bundleID):
            let ids = channels.list(bundleID: bundleID, environment: environment)
            return (answer(200, to: request, json: ["channels": .array(ids.map { .string($0) })]), [])
        }
    }

    // MARK: Answers

    private mutating func answer(_ refusal: APNSRefusal, to request: APNSRequest) -> AppleAnswer {
        var body: JSONObject = ["reason": .string(refusal.reason)]
        if let timestamp = refusal.timestamp {
            body["timestamp"] = .number(JSONNumber(timestamp))
        }
        var answer = answer(refusal.status, to: request, json: .object(body))
        answer.reason = refusal.reason
        return answer
    }

    private mutating func answer(_ status: Int, to request: APNSRequest, json: JSONValue? = nil) -> AppleAnswer {
        var headers: [AppleAnswer.Header] = []
        if case .device = request.endpoint {
            headers.append(AppleAnswer.Header("apns-id", echo(request.headers.messageID)))
            // Apple, Handling notification responses from APNs: only in the development environment.
            if request.environment == .sandbox {
                headers.append(AppleAnswer.Header("apns-unique-id", makeMessageID()))
            }
        } else {
            headers.append(AppleAnswer.Header("apns-request-id", echo(request.headers.requestID)))
        }
        if json != nil {
            headers.append(AppleAnswer.Header("content-type", "application/json"))
        }
        return AppleAnswer(status: status, headers: headers, body: json?.serialized() ?? [])
    }

    /// The caller's id if its form is valid, or else a new one.
    private mutating func echo(_ id: String?) -> String {
        if let id, HeaderForms.isCanonicalUUID(id) { return id }
        return makeMessageID()
    }

    // MARK: Records

    /// Counts a push by its properties and its answer. Ignores other requests.
    private mutating func count(_ request: APNSRequest, status: Int, reason: String?) {
        switch request.endpoint {
        case .device, .broadcast:
            let event = request.body.isEmpty ? nil : body(request.body).event
            count(event?.rawValue ?? "other", priority: request.priority, status: status, reason: reason)
        case .channels, .allChannels, .unknown:
            break
        }
    }

    private mutating func subject(of request: APNSRequest, _ connection: Int) -> FaultSubject {
        var subject = FaultSubject(environment: request.environment, api: request.api, connection: connection)
        switch request.endpoint {
        case .device(let token):
            subject.token = token
            subject.topic = request.headers.topic
            subject.phone = owner(ofToken: token, in: request.environment)
        case .broadcast(let bundleID), .channels(let bundleID), .allChannels(let bundleID):
            subject.topic = bundleID
            subject.channelID = request.headers.channelID
        case .unknown:
            break
        }
        if faults.looksAtEvents, !request.body.isEmpty {
            subject.event = body(request.body).event
        }
        return subject
    }
}

extension APNSRequest {
    /// The request's priority; Apple's default is 10.
    var priority: Int { headers.priority.flatMap { Int($0) } ?? 10 }

    /// UNIX seconds; 0: one attempt; nil without the header.
    var expiration: Int64? { headers.expiration.flatMap { Int64($0) } }
}
