"""What tests share: helpers, fakes and peers, none of which is a test itself."""
