package com.gsimc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class BearerTest {
  @TempDir private Path folder;

  @Test
  void readsTheFileAgain() throws IOException {
    var file = folder.resolve("token");
    Files.writeString(file, "\ufeffone\r\nline for the server\n");
    var bearer = Bearer.of(null, file);
    assertEquals("Bearer one", bearer.header());
    Files.writeString(file, "two");
    assertEquals("Bearer two", bearer.header());
    Files.writeString(file, "no token");
    assertEquals("Bearer two", bearer.header());
    Files.delete(file);
    assertEquals("Bearer two", bearer.header());
    assertThrows(NoSuchFileException.class, () -> Bearer.of(null, file));
  }

  @Test
  void isGiven() throws IOException {
    assertNull(Bearer.of(null, null));
    assertNull(Bearer.of(" ", null));
    assertEquals("Bearer t", Bearer.of("t\n", null).header());
  }

  @ParameterizedTest
  @ValueSource(strings = {"a b", "a\nb", "\u00e4"})
  void bad(String token) throws IOException {
    assertThrows(IllegalArgumentException.class, () -> Bearer.of(token, null));
    var file = Files.writeString(folder.resolve("token"), token.replace('\n', ' '));
    assertThrows(IllegalArgumentException.class, () -> Bearer.of(null, file));
  }
}
