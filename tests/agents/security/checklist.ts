/**
 * The security checklist of accounts, the OAuth server, MCP and keys, a line each. Every line is the name of one
 * `describe` in this folder; `checklist.test.ts` holds that none is missing.
 */
export const CHECKLIST = {
  tokensAtRest: 'tokens at rest are hashes, and a code for a device lives ten minutes at most',
  fixation:
    'a sign-in makes a new session, a new password ends the others, and what is grave asks for a recent sign-in',
  secretsFromEnvironment: 'secrets come from outside, are long enough, and nothing starts on an unsafe address',
  openRedirects: 'nobody but we choose where a browser is sent',
  csrf: 'a page elsewhere cannot write with the owner’s cookie',
  clickjacking:
    'the pages of sign-in, consent and devices stand in no frame and no cache, and tell nobody where they were',
  consent: 'consent shows who asks, where it leads and what it costs, as text, every time',
  ssrf: 'the server fetches no address that an app wrote',
  authorization: 'redirect, resource, issuer, PKCE and code are what the server said, exactly',
  outgoingLink: 'the state of a social link is a secret, bound to its key, used once, for ten minutes',
  linkedTokens: 'tokens of linked accounts are sealed in their place, and keys can be changed',
  linkedRefresh: 'a linked account is renewed once at a time, saved before use, and a dead grant asks to link again',
  rateLimits: 'what can be guessed or flooded has a minute of its own per true address, and says when to come back',
  logs: 'the log tells no secret, and the audit who let whom in',
  leftovers: 'nothing of the prototypes is in the product',
} as const
