package import APITypes
package import ActivityModel
package import JSON
import TallyClient

/// The operations of the control API, without HTTP. Each throws `Problem` for a caller's mistake.
package struct ControlAPI: Sendable {
    package let simulation: Simulation
    package let desk: ReportDesk

    /// Switches the APNs listeners to an expired certificate, or back to the valid one.
    let showCertificate: @Sendable (_ expired: Bool) async -> Void

    // MARK: Phones

    /// `POST /phones`: creates phones and launches their apps, which report to Tally. → `{created, first, last}`
    ///
    /// Existing phones with these ids stay unchanged and are not counted.
    package func makePhones(_ request: PhonesRequest) -> JSONValue {
        let profiles = simulation.adjust { world, now in
            request.profiles(at: now.milliseconds) { world.makeSeed() }
        }
        let created = simulation.addPhones(profiles)
        var answer = ObjectWriter()
        answer.add("created", created)
        answer.add("first", profiles.first?.id.rawValue)
        answer.add("last", profiles.last?.id.rawValue)
        return answer.json
    }

    /// `GET /phones?prefix=&activity=&limit=&cursor=`: the phones and what they show. → `{items, next_cursor}`
    package func phones(prefix: String?, activity: ActivityID?, limit: Int, cursor: Int) -> JSONValue {
        simulation.read { world, now in
            var items: [JSONValue] = []
            var next: Int?
            for (number, phone) in world.phones.enumerated().dropFirst(cursor) {
                guard phone.profile.id.rawValue.hasPrefix(prefix ?? ""),
                    activity.map({ phone.profile.follows.contains($0) }) ?? true
                else { continue }
                guard items.count < limit else {
                    next = number
                    break
                }
                items.append(phone.summary(at: now, reports: desk.queue(of: phone.profile.id)))
            }
            return ["items": .array(items), "next_cursor": next.map { .string(String($0)) } ?? .null]
        }
    }

    /// `GET /phones/{id}`: what the phone shows now, and every push that it received with the result.
    package func phone(_ id: DeviceID) throws(Problem) -> JSONValue {
        let story = simulation.read { world, now in
            world.phoneNumber(id).map { world.phones[$0].story(at: now, reports: desk.queue(of: id)) }
        }
        guard let story else { throw .notFound("the phone") }
        return story
    }

    /// `POST /actions`: carries out actions at phones, in the order of the list. → `{phones}`, the number of phones.
    ///
    /// An action selects phones by `phone`, `phones` or `prefix`; without any of these, it applies to all.
    package func perform(_ actions: [PhoneAction]) throws(Problem) -> JSONValue {
        var touched = 0
        for action in actions {
            let phones = try selected(by: action)
            touched += phones.count
            simulation.perform(action, on: phones)
        }
        return ["phones": .number(JSONNumber(touched))]
    }

    private func selected(by action: PhoneAction) throws(Problem) -> [DeviceID] {
        let all = action.phones.isEmpty && action.prefix == nil
        let (ids, unknown) = simulation.read { world, _ in
            let byPrefix = world.phones.map(\.profile.id).filter { id in
                all || action.prefix.map { id.rawValue.hasPrefix($0) } ?? false
            }
            return (action.phones + byPrefix, action.phones.contains { world.phoneNumber($0) == nil })
        }
        if unknown { throw .notFound("a phone of the action") }
        return ids
    }

    // MARK: Apple

    /// `GET /summary`: requests by event, priority and status; provider tokens that Apple might refuse; ignored pushes;
    /// second cards; reports.
    package func summary() -> JSONValue {
        let overview = desk.overview
        return simulation.read { world, _ in
            var answer = ObjectWriter()
            answer.add("phones", world.phones.count)
            answer.add("channels", world.channels.overview.count)
            answer.add("requests", .array(world.counts.json))
            let warnings: [JSONValue] = LooseIssuedAt.allCases.compactMap { form in
                world.looseTokens[form].map { ["warning": .string(form.rawValue), "tokens": .number(JSONNumber($0))] }
            }
            answer.add("warnings", .array(warnings))
            let verdicts = world.phones.reduce(into: VerdictCounts()) { $0.add($1) }
            answer.add("received", verdicts.received)
            answer.add("ignored", verdicts.ignoredJSON)
            answer.add("second_cards", world.phones.reduce(0) { $0 + $1.secondCards })
            var reports = ObjectWriter()
            reports.add("accepted", overview.accepted)
            reports.add("pending", overview.pending)
            reports.add("failing", overview.failing)
            reports.add("last_error", overview.lastError)
            answer.add("reports", reports.json)
            answer.add("fault_hits", .object(JSONObject(world.faults.hits.map { ($0, .number(JSONNumber($1))) })))
            return answer.json
        }
    }

    /// `GET /channels`: every channel of every app. → `{items}`
    package func channels() -> JSONValue {
        let items: [JSONValue] = simulation.read { world, _ in
            world.channels.overview.map { channel in
                var fields = ObjectWriter()
                fields.add("apns_channel_id", channel.id)
                fields.add("environment", channel.environment.rawValue)
                fields.add("bundle_id", channel.bundleID)
                fields.add("storage", channel.storage.rawValue)
                fields.add("subscribers", channel.subscribers)
                return fields.json
            }
        }
        return ["items": .array(items)]
    }

    /// `POST /keys`: registers a signing key, so that the simulator checks its signatures.
    package func register(_ request: KeyRequest) throws(Problem) {
        let publicKey = try request.publicKey()
        simulation.adjust { world, _ in
            world.keys.register(keyID: request.keyID.rawValue, publicKey: publicKey, scope: request.scope)
        }
    }

    /// `DELETE /keys/{key_id}`: revokes the key.
    package func revoke(_ keyID: KeyID) {
        simulation.adjust { world, _ in world.keys.revoke(keyID: keyID.rawValue) }
    }

    // MARK: Faults

    /// `POST /faults`: sets a fault. It replaces a fault of the same name.
    package func set(_ request: FaultRequest) {
        simulation.adjust { world, now in world.faults.set(request.fault(from: now.milliseconds)) }
    }

    /// `GET /faults`: the current faults, with the number of requests that each has hit. → `{items}`
    package func faults() -> JSONValue {
        simulation.read { world, now in
            let items = world.faults.faults.map { fault -> JSONValue in
                let seconds = fault.until.map { Double($0 - now.milliseconds) / 1000 }
                var object = FaultRequest(fault, seconds: seconds).json.object ?? JSONObject()
                object["hits"] = .number(JSONNumber(world.faults.hits[fault.name] ?? 0))
                return .object(object)
            }
            return ["items": .array(items)]
        }
    }

    /// `DELETE /faults` and `DELETE /faults/{name}`.
    package func removeFaults(named name: String?) {
        simulation.adjust { world, _ in
            if let name {
                world.faults.remove(named: name)
            } else {
                world.faults.removeAll()
            }
        }
    }

    /// `PUT /certificate`: switches to an expired certificate, or back to the valid one. Closes all connections.
    package func show(_ request: CertificateRequest) async {
        await showCertificate(request.expired)
    }

    // MARK: Tally

    /// `PUT /tally`: sets the Tally that apps report to, and sends the waiting reports.
    package func connect(_ request: TallyRequest) throws(Problem) {
        do {
            desk.connect(try TallyReporter(url: request.url, key: request.key), for: request.bundleID)
        } catch {
            throw .invalidRequest(at: ["url"], error.detail)
        }
    }

    /// `POST /report`: compares what phones show with the posts in the body, which is JSON Lines.
    package func report(_ posts: [Post]) -> ReplayReport {
        let pending = desk.overview.pending
        let (phones, now) = simulation.read { world, now in (world.phones, now.milliseconds) }
        return ReplayReport(posts: posts, phones: phones, reportsPending: pending, now: now)
    }
}
