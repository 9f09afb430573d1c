package com.gsimc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class AddressTest {
  @ParameterizedTest
  @ValueSource(strings = {"", "foo", "foo:", ":80", "foo:0", "foo:65536", "foo:http", "foo:-1",
      "foo:8\u0665", " foo:80", "foo:80\n", "::1", "::1:80", "[]:80", "[::1]", "unix:x"})
  void bad(String address) {
    var error = assertThrows(IllegalArgumentException.class, () -> Address.check(address));
    assertTrue(error.getMessage().startsWith("address: '" + address + "', want HOST:PORT"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"https://foo:80", "http://foo", "HTTPS://foo/", "grpc://foo:80",
      "dns:///foo:80"})
  void schemes(String address) {
    var error = assertThrows(IllegalArgumentException.class, () -> Address.check(address));
    assertEquals("address: '" + address + "', want HOST:PORT alone, and tls() for https",
        error.getMessage());
  }

  @ParameterizedTest
  @CsvSource({"foo:1, false", "localhost:65535, true", "127.1.2.3:80, true", "10.0.0.1:80, false",
      "127.0.0.1.example.com:80, false", "[::1]:80, true", "[::ffff:127.0.0.1]:80, true",
      "[fe80::1%1]:80, false", "unix:/x, true", "localhost.example.com:80, false"})
  void good(String address, boolean onThisMachine) {
    assertEquals(address, Address.check(address));
    assertEquals(onThisMachine, Address.onThisMachine(address));
  }
}
