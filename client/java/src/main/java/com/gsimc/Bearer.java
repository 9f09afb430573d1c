package com.gsimc;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A token, and where it was read. */
final class Bearer {
  private final Path file; // null: the token stays
  private volatile String token;

  private Bearer(String token, Path file) {
    this.token = token;
    this.file = file;
  }

  /** Returns null if there is neither a token nor a file. */
  static Bearer of(String token, Path file) throws IOException {
    if (file != null) {
      return new Bearer(read(file), file);
    }
    if (token == null || token.isBlank()) {
      return null;
    }
    if (!valid(token.strip())) {
      throw new IllegalArgumentException(
          "token: want one line of ASCII, as gsimc token drew it");
    }
    return new Bearer(token.strip(), null);
  }

  /** The value of the metadata authorization. */
  String header() {
    if (file != null && Files.isRegularFile(file)) {
      try {
        token = read(file);
      } catch (IOException | IllegalArgumentException e) {
        // The last good one stays.
      }
    }
    return "Bearer " + token;
  }

  private static String read(Path file) throws IOException {
    var text = Files.readString(file);
    var first = (text.startsWith("\ufeff") ? text.substring(1) : text).split("\n", 2)[0].strip();
    if (!valid(first)) {
      throw new IllegalArgumentException(
          "tokenFile: " + file + ": the first line is no token");
    }
    return first;
  }

  private static boolean valid(String token) {
    return token.matches("[!-~]+");
  }
}
