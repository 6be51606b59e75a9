import APITypes
import Cryptography

/// Signs people in and out, and admits those who are signed in.
struct Entrance: Sendable {
    let request: ConsoleRequest
    let form: FormFields
    let api: any ConsoleAPI
    let seal: SessionSeal
    let memory: ConsoleMemory

    private var cookies: Cookies { Cookies(request: request, seal: seal, memory: memory) }
    private var session: ConsoleSession? { cookies.session }

    /// Answers sign-in and sign-out; nil for every other path.
    func answer() async -> ConsoleAnswer? {
        switch (request.method, request.path) {
        case ("GET", "/console/sign-in"): signIn()
        case ("POST", "/console/sign-in"): await trySignIn()
        case ("POST", "/console/sign-out"): signOut()
        default: nil
        }
    }

    // MARK: Admission

    /// Lets a visit happen if the session is valid and, for a form, if the form is one of this session.
    ///
    /// The key is looked up each time, so a revoked key ends its sessions.
    func admitted(
        orElse refuse: () -> ConsoleAnswer,
        _ visit: (Visit) async -> ConsoleAnswer
    ) async -> ConsoleAnswer {
        guard let session else {
            // A strict cookie does not come along with a link from another site. Asking again from here brings it.
            if request.method == "GET", request.fields.fetchSite == "cross-site" {
                return ErrorPage.alone(status: 200, "One moment.", refreshAfter: 0)
            }
            return refuse()
        }
        let owner: KeyOwner?
        do {
            owner = try await api.owner(ofKey: session.secret)
        } catch let problem as Problem {
            return ErrorPage.away(problem, request)
        } catch {
            return ErrorPage.alone(status: 500, "The daemon failed. Its log says why.")
        }
        guard let owner else { return refuse() }
        if request.method == "POST", !seal.isFormToken(form.raw(FormToken.name) ?? "", for: session.id) {
            return ErrorPage.alone(
                status: 403,
                "This form is not from your session. Nothing was changed. Go back, reload the page, and try again."
            )
        }
        return await visit(
            Visit(
                request: request,
                query: FormFields(request.query),
                form: form,
                owner: owner,
                secret: session.secret,
                formToken: FormToken(text: seal.formToken(for: session.id)),
                api: api,
                memory: memory
            )
        )
    }

    // MARK: Sign-in

    /// The form for a key. A form that came without a session is kept in it and offered again afterwards.
    func signIn(status: Int = 200, message: String? = nil, wait: Int64? = nil) -> ConsoleAnswer {
        let visitor = cookies.visitor ?? seal.visitor()
        let query = FormFields(request.query)
        let kept = keptForm
        let tooLarge = kept == nil ? "Your session has ended. The form that you sent is too large to be kept." : nil
        let page = SignInPage(
            token: FormToken(text: seal.formToken(for: visitor)),
            message: message ?? tooLarge,
            link: isOwnForm ? form["link"] ?? query["link"] : nil,
            next: isOwnForm ? form["next"] ?? query["next"] : request.address,
            kept: kept ?? []
        )
        var answer = ConsoleAnswer.page(page.html, status: status)
        answer.add("Set-Cookie", cookie(cookies.visitorName, visitor, lasting: ConsoleSession.lifetimeSeconds))
        if let wait { answer.add("Retry-After", String(wait)) }
        return answer
    }

    private var isOwnForm: Bool { request.path == "/console/sign-in" }

    /// The form to offer again after the sign-in; nil if it is too large.
    private var keptForm: [String]? {
        let kept = isOwnForm ? form.all(SignInPage.keptName) : request.method == "POST" ? SignInPage.keep(form) : []
        return SignInPage.canKeep(kept) ? kept : nil
    }

    private func trySignIn() async -> ConsoleAnswer {
        guard let visitor = cookies.visitor,
            seal.isFormToken(form.raw(FormToken.name) ?? "", for: visitor)
        else {
            return signIn(status: 403, message: "This form has expired, or cookies are off. Please try again.")
        }
        if let wait = memory.wait(of: request.client, now: request.now) {
            return signIn(status: 429, message: "Too many wrong keys. Try again in \(wait) seconds.", wait: wait)
        }
        guard let secret = form["link"].map(secret(ofLink:)) ?? form["key"] else {
            let message = form["link"] == nil ? "Enter an API key." : "This link was used or has expired."
            return signIn(status: 422, message: message)
        }
        do {
            guard let owner = try await api.owner(ofKey: secret) else {
                memory.countWrongKey(of: request.client, now: request.now)
                return signIn(
                    status: 401,
                    message: "Tally does not know this key. It may be mistyped, revoked or expired."
                )
            }
            guard owner.allows(.read) else {
                return signIn(status: 403, message: "This key lacks the scope 'read', so it can show nothing here.")
            }
        } catch let problem as Problem {
            return signIn(status: problem.status, message: problem.detail, wait: problem.retryAfter.map { Int64($0) })
        } catch {
            return signIn(status: 500, message: "The daemon failed. Its log says why.")
        }
        return admit(secret)
    }

    /// The key of a link, which is then used up.
    private func secret(ofLink text: String) -> String? {
        guard let link = seal.open(text, for: .link, now: request.now),
            memory.end(link.id, expiresAt: link.expiresAt, now: request.now)
        else { return nil }
        return link.secret
    }

    /// Begins a session under a new id, whatever cookies the browser had.
    private func admit(_ secret: String) -> ConsoleAnswer {
        let session = ConsoleSession(
            id: Base64URL.encode(SecureRandom.bytes(16)),
            secret: secret,
            expiresAt: Instant(unixSeconds: request.now.unixSeconds + ConsoleSession.lifetimeSeconds)
        )
        guard let sealed = try? seal.seal(session, for: .session) else {  // only if OpenSSL has no AES-GCM
            return ErrorPage.alone(status: 500, "The daemon could not seal a session.")
        }
        let next = form["next"].flatMap { Address(returningTo: $0) } ?? Address("/console")
        let kept = keptForm ?? []
        var answer: ConsoleAnswer
        if kept.isEmpty {
            answer = .redirect(next)
        } else {
            let token = FormToken(text: seal.formToken(for: session.id))
            answer = .page(KeptFormPage(target: next, kept: kept, token: token).html)
        }
        answer.add("Set-Cookie", cookie(cookies.sessionName, sealed, lasting: ConsoleSession.lifetimeSeconds))
        answer.add("Set-Cookie", cookie(cookies.visitorName, "", lasting: 0))
        return answer
    }

    private func signOut() -> ConsoleAnswer {
        guard let session, seal.isFormToken(form.raw(FormToken.name) ?? "", for: session.id) else {
            return .redirect(Address("/console/sign-in"))
        }
        memory.end(session.id, expiresAt: session.expiresAt, now: request.now)
        var answer = ConsoleAnswer.redirect(Address("/console/sign-in"))
        answer.add("Set-Cookie", cookie(cookies.sessionName, "", lasting: 0))
        answer.add("Clear-Site-Data", "\"cache\"")
        return answer
    }

    // MARK: Cookies

    private func cookie(_ name: String, _ value: String, lasting seconds: Int64) -> String {
        "\(name)=\(value); Path=/; HttpOnly; SameSite=Strict; Max-Age=\(seconds)" + (request.isSecure ? "; Secure" : "")
    }
}

/// The token in every form, which another site cannot know.
struct FormToken: Sendable {
    static let name = "form_token"

    let text: String

    /// Stands for the token of each visit that gets the same rendering. No text that is escaped contains this character.
    static let shared = FormToken(text: "\0")

    var html: HTML {
        text == Self.shared.text
            ? "<input type=\"hidden\" name=\"form_token\" value=\"\0\">"
            : "<input type=\"hidden\" name=\"form_token\" value=\"\(text)\">"
    }
}
