import APITypes

/// The form for an API key.
struct SignInPage {
    /// The name of the hidden fields that keep a form whose session had expired.
    static let keptName = "kept"
    /// The most fields of a form that is kept.
    static let mostKept = 100
    /// The most bytes of a form that is kept, percent-encoded.
    static let mostKeptBytes = 16 << 10

    let token: FormToken
    let message: String?
    /// A one-time link, which replaces the key.
    let link: String?
    /// Where to go afterwards.
    let next: String?
    /// The form to offer again, each field as `name=value`, percent-encoded.
    let kept: [String]

    /// The fields of a form, but its token.
    static func keep(_ form: FormFields) -> [String] {
        form.entries.filter { $0.name != FormToken.name }.map {
            PercentEncoding.encode($0.name) + "=" + PercentEncoding.encode($0.value)
        }
    }

    /// Whether the fields of a form are few and short enough. Anybody may send one, and gets it back.
    static func canKeep(_ fields: [String]) -> Bool {
        fields.count <= mostKept && fields.reduce(0) { $0 + $1.utf8.count } <= mostKeptBytes
    }

    var html: HTML {
        Layout.document(
            title: "Sign in",
            """
            <main id="main" class="sign-in">
            <h1>\(Drawing.mark)<span>Tally</span></h1>
            <form method="post" action="/console/sign-in">
            \(message.map { "<p class=\"note bad\" role=\"alert\">\($0)</p>" as HTML })
            \(kept.isEmpty ? "" : "<p class=\"note warn\">Your session has ended. Sign in, and your form is still here.</p>" as HTML)
            \(token.html)
            \(next.map { "<input type=\"hidden\" name=\"next\" value=\"\($0)\">" as HTML })
            \(kept.map { "<input type=\"hidden\" name=\"kept\" value=\"\($0)\">" as HTML })
            \(entry)
            </form>
            </main>
            """
        )
    }

    private var entry: HTML {
        if let link, message == nil {
            return """
                <input type="hidden" name="link" value="\(link)">
                <p>This link signs you in once, as the key that made it.</p>
                <button class="main" autofocus>Sign in</button>
                """
        }
        return """
            <label for="key">API key</label>
            <input id="key" name="key" type="password" autocomplete="current-password" required autofocus spellcheck="false">
            <button class="main">Sign in</button>
            <p class="hint">The key's scopes decide what you see and may change. \
            <code>tally keys create console --scope read</code> makes one for looking.</p>
            """
    }
}
