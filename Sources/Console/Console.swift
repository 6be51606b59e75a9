package import APITypes
import Cryptography
import JSON

/// The console: pages for the people who run Tally, made on the server.
///
/// It is a function of a request, the time in it, and the answers of the API. It knows no HTTP library, and its only
/// way to data is the API, with the key of the person who looks.
package struct Console: Sendable {
    private let seal: SessionSeal
    private let memory = ConsoleMemory()
    private let renewals = Renewals()

    package init(seal: SessionSeal) {
        self.seal = seal
    }

    /// Whether the console answers this path.
    package static func serves(_ path: String) -> Bool { path == "/console" || path.hasPrefix("/console/") }

    /// The path and query of a link that signs its reader in with this key, once and within an hour.
    package func signInLink(secret: String, now: Instant) throws -> String {
        let expiry = Instant(unixSeconds: now.unixSeconds + 3600)
        let link = ConsoleSession(id: Base64URL.encode(SecureRandom.bytes(16)), secret: secret, expiresAt: expiry)
        return Address("/console/sign-in", ["link": try seal.seal(link, for: .link)]).text
    }

    /// The most bytes of a form that the sender of this request may send, by its cookies.
    package func bodyLimit(of request: ConsoleRequest) -> Int {
        Cookies(request: request, seal: seal, memory: memory).bodyLimit
    }

    /// The answer to a form above ``bodyLimit(of:)``.
    package static var bodyTooLarge: ConsoleAnswer {
        ErrorPage.alone(status: 413, "This form is too large, or your session has ended. Nothing was changed.")
    }

    package func answer(to request: ConsoleRequest, over api: any ConsoleAPI) async -> ConsoleAnswer {
        if let asset = Asset.at(request.path) { return asset.answer }
        guard request.method == "GET" || request.method == "POST" else {
            return ErrorPage.alone(status: 405, "This method does nothing here.")
        }
        if request.method == "POST", request.isFromElsewhere {
            return ErrorPage.alone(status: 403, "Another site sent this form. Nothing was changed.")
        }
        let form = FormFields(request.method == "POST" ? String(decoding: request.body, as: UTF8.self) : "")
        // Half a form would change something else than its sender wants.
        if form.isCut { return Self.bodyTooLarge }
        let entrance = Entrance(request: request, form: form, api: api, seal: seal, memory: memory)
        if let answer = await entrance.answer() { return answer }
        guard let route = ConsoleRoute.at(request.path) else {
            return await entrance.admitted(orElse: { ErrorPage.alone(status: 404, "There is no such page.") }) {
                visit in
                await ErrorPage.within(visit, status: 404, "There is no such page.")
            }
        }
        return await entrance.admitted(orElse: { entrance.signIn(status: 401) }) { visit in
            await carryOut(route, visit)
        }
    }

    private func carryOut(_ route: ConsoleRoute, _ visit: Visit) async -> ConsoleAnswer {
        guard visit.isRenewal, route.sharesRenewals else { return await Self.answer(route, visit) }
        let key = Renewals.Key(address: visit.request.address, scopes: visit.owner.scopes, app: visit.owner.app)
        var shared = visit
        shared.formToken = .shared
        let rendering = await renewals.answer(key, now: visit.now) { [shared] in await Self.answer(route, shared) }
        guard let rendering else { return await Self.answer(route, visit) }
        return rendering.giving(visit.formToken)
    }

    private static func answer(_ route: ConsoleRoute, _ visit: Visit) async -> ConsoleAnswer {
        guard let handler = visit.request.method == "GET" ? route.get : route.post else {
            return await ErrorPage.within(visit, status: 405, "This page takes no such request.")
        }
        let needed = visit.request.method == "GET" ? route.needs : route.needsToChange
        guard visit.owner.allows(needed) else {
            return await ErrorPage.within(
                visit,
                status: 403,
                "Your key lacks the scope '\(needed.rawValue)', which this needs. Sign in with another key."
            )
        }
        do {
            return try await handler(visit)
        } catch let nothing as NoApp {
            return FirstSteps.page(visit, nothing.place)
        } catch let problem as Problem {
            let memory = await Gone.app(problem, visit)
            if let memory { return memory }
            return await ErrorPage.of(problem, visit)
        } catch {
            return await ErrorPage.within(visit, status: 500, "The daemon failed. Its log says why.")
        }
    }
}
