// Signs a ticket for one device. It needs: com.auth0:java-jwt:4.

import com.auth0.jwt.JWT
import com.auth0.jwt.algorithms.Algorithm
import java.security.KeyFactory
import java.security.interfaces.ECPrivateKey
import java.security.spec.PKCS8EncodedKeySpec
import java.time.Instant
import java.util.Base64

/** `secret`: the secret of a key for HS256. */
fun hs256(secret: String): Algorithm = Algorithm.HMAC256(secret.toByteArray())

/** `pem`: the secret of a key for ES256. */
fun es256(pem: String): Algorithm {
    val base64 = pem.lines().filter { !it.startsWith("-----") }.joinToString("")
    val key = KeyFactory.getInstance("EC").generatePrivate(PKCS8EncodedKeySpec(Base64.getDecoder().decode(base64)))
    return Algorithm.ECDSA256(null, key as ECPrivateKey)
}

/** `activities`: check before that the user may see each. Null: those of the device and the user. */
fun ticket(
    app: String,
    keyId: String,
    algorithm: Algorithm,
    device: String,
    user: String? = null,
    activities: List<String>? = null,
    days: Long = 30,
): String {
    val now = Instant.now()
    val builder = JWT.create()
        .withKeyId(keyId)
        .withAudience(app)
        .withIssuedAt(now)
        .withExpiresAt(now.plusSeconds(days * 86_400))
        .withClaim("environment", "production")
        .withClaim("device_id", device)
    if (user != null) builder.withSubject(user)
    if (activities != null) builder.withClaim("activities", activities)
    return builder.sign(algorithm)
}
