#pragma once

// Two nodes prove to each other that they know the run's key, before any other message.
//
//   connecting side                       accepting side
//   Hello {role, run, nonce c}     ->
//                                  <-     Challenge {nonce s}
//   Proof {mac("c", s, c)}         ->
//                                  <-     Welcome {proof mac("s", c, s)}   or   Refusal {sentence}
//
// mac is HMAC-SHA-256 with the key. Fresh nonces on both sides make replayed messages useless. The
// label "c" or "s" prevents an attacker from sending a proof back to the side that made it. Over
// TCP the handshake runs inside TLS 1.3. TLS uses the same key. On a Unix socket, or if TLS is off,
// the handshake is the only proof.
//
// The classes do no I/O: they take messages and return messages. net/connections.cc reads and
// writes.

#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
#include "net/key.h"
#include "wire/message.h"

namespace xylem::net {

/// Makes the proof of one side. `label` is 'c' for the connecting side and 's' for the accepting
/// side. `theirs` is the other side's nonce.
wire::Mac make_proof(const Key& key, char label, const wire::Nonce& theirs, const wire::Nonce& own);

/// Compares in constant time.
bool equal_macs(const wire::Mac& a, const wire::Mac& b);

/// The accepting side. Pass it the messages of the connecting side in order. Not thread-safe.
class AcceptHandshake {
 public:
  /// `run` is the run id that a hello must contain. The handshake adds the proof to `welcome`.
  AcceptHandshake(const Key& key, std::string run, wire::Welcome welcome);

  /// Returns the answer to send: Challenge, Welcome or Refusal. A Welcome means that the peer has
  /// proved that it knows the key. After a Refusal the caller must close the connection. Fails with
  /// kCorrupt if the peer does not speak this protocol. The caller must then send nothing.
  Result<wire::Message> on_message(const wire::Message& message);

  bool proved() const noexcept { return proved_; }
  /// The reason of the last Refusal, for the log.
  const std::string& refusal() const noexcept { return refusal_; }
  /// Valid if proved().
  const wire::Hello& hello() const noexcept { return hello_; }

 private:
  wire::Message refuse(std::string sentence);

  Key key_;
  std::string run_;
  wire::Welcome welcome_;
  wire::Nonce nonce_{};
  wire::Hello hello_;
  bool greeted_ = false;
  bool proved_ = false;
  std::string refusal_;
};

/// The connecting side. Not thread-safe.
class ConnectHandshake {
 public:
  /// Copies `hello` and fills in magic, major and nonce.
  ConnectHandshake(const Key& key, wire::Hello hello);

  const wire::Hello& hello() const noexcept { return hello_; }

  /// After a Challenge, returns the Proof to send. After a Welcome, returns nullopt: a Welcome
  /// needs no answer. Fails with kPermissionDenied after a Refusal; the message has the peer's
  /// sentence. Also fails with kPermissionDenied if the peer's proof is wrong. Fails with kCorrupt
  /// on any other message.
  Result<std::optional<wire::Message>> on_message(const wire::Message& message);

  bool proved() const noexcept { return proved_; }
  /// Valid if proved().
  const wire::Welcome& welcome() const noexcept { return welcome_; }

 private:
  Key key_;
  wire::Hello hello_;
  wire::Nonce challenge_{};
  wire::Welcome welcome_;
  bool challenged_ = false;
  bool proved_ = false;
};

}  // namespace xylem::net
