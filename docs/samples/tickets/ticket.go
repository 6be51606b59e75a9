// Package ticket signs tickets. It needs: go get github.com/golang-jwt/jwt/v5.
package ticket

import (
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Device is the device that a ticket is for, and its user. An empty user is nobody.
// Check before that the user may see each of the activities. Nil: those of the device and the user.
type Device struct {
	ID         string
	User       string
	Activities []string
}

// SignES256 signs with the secret of a key for ES256, which is PEM.
func SignES256(app, keyID, secret string, device Device, life time.Duration) (string, error) {
	key, err := jwt.ParseECPrivateKeyFromPEM([]byte(secret))
	if err != nil {
		return "", err
	}
	return sign(jwt.SigningMethodES256, key, app, keyID, device, life)
}

// SignHS256 signs with the secret of a key for HS256.
func SignHS256(app, keyID, secret string, device Device, life time.Duration) (string, error) {
	return sign(jwt.SigningMethodHS256, []byte(secret), app, keyID, device, life)
}

func sign(method jwt.SigningMethod, key any, app, keyID string, device Device, life time.Duration) (string, error) {
	now := time.Now()
	claims := jwt.MapClaims{
		"aud":         app,
		"iat":         now.Unix(),
		"exp":         now.Add(life).Unix(),
		"environment": "production",
		"device_id":   device.ID,
	}
	if device.User != "" {
		claims["sub"] = device.User
	}
	if device.Activities != nil {
		claims["activities"] = device.Activities
	}
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"] = keyID
	return token.SignedString(key)
}
