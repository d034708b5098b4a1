#include "net/handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <vector>

namespace xylem::net {

wire::Mac make_proof(const Key& key, char label, const wire::Nonce& theirs,
                     const wire::Nonce& own) {
  std::vector<std::uint8_t> text{'x', 'y', 'l', 'e', 'm', static_cast<std::uint8_t>(label)};
  text.insert(text.end(), theirs.begin(), theirs.end());
  text.insert(text.end(), own.begin(), own.end());
  wire::Mac mac{};
  unsigned length = 0;
  CHECK(::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), text.data(), text.size(),
               mac.data(), &length) != nullptr);
  CHECK(length == mac.size());
  return mac;
}

bool equal_macs(const wire::Mac& a, const wire::Mac& b) {
  return ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

AcceptHandshake::AcceptHandshake(const Key& key, std::string run, wire::Welcome welcome)
    : key_(key), run_(std::move(run)), welcome_(welcome) {
  fill_random(nonce_);
}

wire::Message AcceptHandshake::refuse(std::string sentence) {
  refusal_ = std::move(sentence);
  return wire::Refusal{refusal_};
}

Result<wire::Message> AcceptHandshake::on_message(const wire::Message& message) {
  if (const auto* hello = std::get_if<wire::Hello>(&message); hello != nullptr && !greeted_) {
    if (hello->magic != wire::kMagic) {
      return unexpected(Code::kCorrupt, "the peer does not speak xylem's protocol");
    }
    if (hello->major != wire::kMajorVersion) {
      return refuse("protocol version " + std::to_string(hello->major) + " meets version " +
                    std::to_string(wire::kMajorVersion) +
                    "; install the same xylem on every host of the run");
    }
    if (hello->run != run_) {
      return refuse("this is run " + run_ + ", not " + hello->run +
                    "; an old environment may point here");
    }
    greeted_ = true;
    hello_ = *hello;
    return wire::Message(wire::Challenge{nonce_});
  }
  if (const auto* proof = std::get_if<wire::Proof>(&message); proof != nullptr && greeted_) {
    if (!equal_macs(proof->mac, make_proof(key_, 'c', nonce_, hello_.nonce))) {
      return refuse("the key is not that of run " + run_);
    }
    proved_ = true;
    welcome_.proof = make_proof(key_, 's', hello_.nonce, nonce_);
    return wire::Message(welcome_);
  }
  return unexpected(Code::kCorrupt,
                    "the peer sent an unexpected message before it had proved the key");
}

ConnectHandshake::ConnectHandshake(const Key& key, wire::Hello hello)
    : key_(key), hello_(std::move(hello)) {
  hello_.magic = wire::kMagic;
  hello_.major = wire::kMajorVersion;
  fill_random(hello_.nonce);
}

Result<std::optional<wire::Message>> ConnectHandshake::on_message(const wire::Message& message) {
  if (const auto* refusal = std::get_if<wire::Refusal>(&message)) {
    return unexpected(Code::kPermissionDenied, "refused: " + refusal->sentence);
  }
  if (const auto* challenge = std::get_if<wire::Challenge>(&message);
      challenge != nullptr && !challenged_) {
    challenged_ = true;
    challenge_ = challenge->nonce;
    return std::optional<wire::Message>(
        wire::Proof{make_proof(key_, 'c', challenge_, hello_.nonce)});
  }
  if (const auto* welcome = std::get_if<wire::Welcome>(&message);
      welcome != nullptr && challenged_) {
    if (!equal_macs(welcome->proof, make_proof(key_, 's', hello_.nonce, challenge_))) {
      return unexpected(Code::kPermissionDenied, "the peer does not know the run's key");
    }
    proved_ = true;
    welcome_ = *welcome;
    return std::optional<wire::Message>();
  }
  return unexpected(Code::kCorrupt,
                    "the peer sent an unexpected message before it had proved the key");
}

}  // namespace xylem::net
