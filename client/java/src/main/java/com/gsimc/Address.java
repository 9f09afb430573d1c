package com.gsimc;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.regex.Pattern;

/** HOST:PORT, [HOST]:PORT or unix:/PATH. */
final class Address {
  private static final Pattern HOST_PORT =
      Pattern.compile("(?:\\[([^\\s\\[\\]/]+)\\]|([^\\s:\\[\\]/]+)):([0-9]{1,5})");
  private static final Pattern IPV4 = Pattern.compile("(?:[0-9]{1,3}\\.){3}[0-9]{1,3}");

  private Address() {}

  static String check(String address) {
    var match = HOST_PORT.matcher(address);
    if (address.startsWith("unix:/")
        || match.matches() && match.group(3).matches("0*[1-9][0-9]*")
            && Integer.parseInt(match.group(3)) < 65536) {
      return address;
    }
    var want = address.contains("://") ? "HOST:PORT alone, and tls() for https"
        : "HOST:PORT with a port from 1 to 65535, [HOST]:PORT for an IPv6 address, or unix:/PATH";
    throw new IllegalArgumentException("address: '" + address + "', want " + want);
  }

  /** The address as gRPC takes it, which is a URI. */
  static String target(String address) {
    return address.startsWith("unix:") ? address
        : "dns:///" + address.replace("%", "%25").replace("[", "%5B").replace("]", "%5D");
  }

  /** Whether what is sent to an address stays on this machine. No name is looked up. */
  static boolean onThisMachine(String address) {
    if (address.startsWith("unix:") || address.startsWith("localhost:")) {
      return true;
    }
    var match = HOST_PORT.matcher(address);
    if (!match.matches()) {
      return false;
    }
    var host = match.group(1) != null ? match.group(1) : match.group(2);
    if (!host.contains(":") && !IPV4.matcher(host).matches()) {
      return false;
    }
    try {
      return InetAddress.getByName(host).isLoopbackAddress();
    } catch (UnknownHostException e) {
      return false;
    }
  }
}
