/** The library's scrypt, but fast: it costs a sign-up a tenth of a second, and its own test is in tests/adapters/identity/sessions.test.ts. */
export const QUICK_HASH = {
  hash: async (password: string) => saltedHash(crypto.randomUUID(), password),
  verify: async ({ hash, password }: { readonly hash: string; readonly password: string }) =>
    hash === saltedHash(hash.slice(0, hash.indexOf(':')), password),
}

function saltedHash(salt: string, password: string): string {
  return `${salt}:${new Bun.CryptoHasher('sha256', salt).update(password).digest('hex')}`
}
