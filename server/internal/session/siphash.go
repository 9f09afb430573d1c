package session

import (
	"encoding/binary"
	"math/bits"
)

// sipHash is SipHash-2-4: a keyed hash for short messages, of which nobody without the key can tell
// anything (J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012). An
// HMAC takes ten times as long, which each event would pay.
func sipHash(key [16]byte, message []byte) uint64 {
	k0, k1 := binary.LittleEndian.Uint64(key[:]), binary.LittleEndian.Uint64(key[8:])
	v0, v1 := k0^0x736f6d6570736575, k1^0x646f72616e646f6d
	v2, v3 := k0^0x6c7967656e657261, k1^0x7465646279746573
	end := uint64(len(message)) << 56
	for ; len(message) >= 8; message = message[8:] {
		m := binary.LittleEndian.Uint64(message)
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3^m)
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0 ^= m
	}
	for i, b := range message {
		end |= uint64(b) << (8 * i)
	}
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3^end)
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0, v2 = v0^end, v2^0xff
	for range 4 {
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	}
	return v0 ^ v1 ^ v2 ^ v3
}

func sipRound(v0, v1, v2, v3 uint64) (w0, w1, w2, w3 uint64) {
	v0 += v1
	v1 = bits.RotateLeft64(v1, 13) ^ v0
	v0 = bits.RotateLeft64(v0, 32)
	v2 += v3
	v3 = bits.RotateLeft64(v3, 16) ^ v2
	v0 += v3
	v3 = bits.RotateLeft64(v3, 21) ^ v0
	v2 += v1
	v1 = bits.RotateLeft64(v1, 17) ^ v2
	return v0, v1, bits.RotateLeft64(v2, 32), v3
}
