import { createHash, randomUUID } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { HttpDouble, type Received } from './http-double'

export type Claims = Readonly<Record<string, unknown>>

interface Grant {
  readonly challenge: string
  readonly redirectUri: string
  readonly nonce: string | null
}

export const CLIENT = { id: 'gateway', secret: 'a secret of the client' }

/**
 * An OpenID Connect issuer on this machine: discovery, JWKS, authorize, token, userinfo, with ES256-signed ID tokens. It keeps the rules:
 * a code works once, for its redirect URI, PKCE verifier and client. `person` signs in at once; `forge` changes what the token says.
 */
export class OidcIssuer {
  /** Who signs in. */
  person: Claims = {}
  /** Claims that an honest issuer would not send. */
  forge: Claims = {}
  /** How the token is signed. */
  signing: 'right' | 'other key' | 'unsigned' = 'right'
  /** Claims that only userinfo has. */
  atUserinfo: Claims | null = null
  readonly double: HttpDouble
  private readonly grants = new Map<string, Grant>()
  private readonly keys = Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')])
  private readonly givenIssuer: string | null

  /** `issuer`: its public name, where requests reach it another way. */
  constructor(issuer: string | null = null) {
    this.givenIssuer = issuer
    this.double = new HttpDouble((received) => this.answer(received))
  }

  get issuer(): string {
    return this.givenIssuer ?? this.double.url
  }

  stop(): Promise<void> {
    return this.double.stop()
  }

  private answer(received: Received): Response | Promise<Response> {
    const path = received.path.replace(new URL(this.issuer).pathname.replace(/\/$/, ''), '')
    if (path === '/.well-known/openid-configuration') return Response.json(this.discovery())
    if (path === '/keys') return this.jwks()
    if (path === '/authorize') return this.authorize(received.query)
    if (path === '/token') return this.token(received)
    if (path === '/userinfo') return Response.json({ sub: this.person['sub'], ...this.atUserinfo })
    return new Response('not here', { status: 404 })
  }

  private discovery() {
    const { issuer } = this
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      code_challenge_methods_supported: ['S256'],
    }
  }

  private async jwks(): Promise<Response> {
    const [{ publicKey }] = await this.keys
    return Response.json({ keys: [{ ...(await exportJWK(publicKey)), kid: 'first', alg: 'ES256', use: 'sig' }] })
  }

  private authorize(query: URLSearchParams): Response {
    const challenge = query.get('code_challenge')
    const redirectUri = query.get('redirect_uri')
    const isRight = query.get('client_id') === CLIENT.id && query.get('code_challenge_method') === 'S256'
    if (!isRight || !challenge || !redirectUri) return new Response('refused', { status: 400 })
    const code = randomUUID()
    this.grants.set(code, { challenge, redirectUri, nonce: query.get('nonce') })
    const back = new URL(redirectUri)
    back.searchParams.set('code', code)
    back.searchParams.set('state', query.get('state') ?? '')
    return new Response(null, { status: 302, headers: { location: back.href } })
  }

  private async token({ body }: Received): Promise<Response> {
    const form = new URLSearchParams(body)
    const grant = this.grants.get(form.get('code') ?? '')
    this.grants.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isClient = form.get('client_id') === CLIENT.id && form.get('client_secret') === CLIENT.secret
    if (!isClient) return Response.json({ error: 'invalid_client' }, { status: 401 })
    if (!grant || grant.challenge !== challenge || grant.redirectUri !== form.get('redirect_uri'))
      return Response.json({ error: 'invalid_grant' }, { status: 400 })
    const id_token = await this.idToken(grant)
    return Response.json({ access_token: randomUUID(), token_type: 'Bearer', expires_in: 300, id_token })
  }

  private async idToken({ nonce }: Grant): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: this.issuer,
      aud: CLIENT.id,
      iat: now,
      exp: now + 300,
      ...(nonce !== null && { nonce }),
      ...this.person,
      ...this.forge,
    }
    if (this.signing === 'unsigned') return new UnsecuredJWT(claims).encode()
    const [right, other] = await this.keys
    const { privateKey } = this.signing === 'right' ? right : other
    return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'first' }).sign(privateKey)
  }
}

/** GitHub: OAuth without OpenID Connect, and the API that names a user and their addresses. */
export class GithubDouble {
  user: Claims = {}
  emails: readonly Claims[] = []
  readonly double: HttpDouble
  private readonly challenges = new Map<string, string>()

  constructor() {
    this.double = new HttpDouble(({ path, query, body }) => {
      if (path === '/login/oauth/authorize') {
        const code = randomUUID()
        this.challenges.set(code, query.get('code_challenge') ?? '')
        const back = new URL(query.get('redirect_uri') ?? '')
        back.search = String(new URLSearchParams({ code, state: query.get('state') ?? '' }))
        return new Response(null, { status: 302, headers: { location: back.href } })
      }
      if (path === '/api/v3/user') return Response.json(this.user)
      if (path === '/api/v3/user/emails') return Response.json(this.emails)
      const form = new URLSearchParams(body)
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url')
      const isRight = this.challenges.get(form.get('code') ?? '') === challenge
      this.challenges.delete(form.get('code') ?? '')
      // GitHub says with a 200 that a code is wrong.
      return Response.json(
        isRight ? { access_token: 'gho_x', token_type: 'bearer', scope: '' } : { error: 'bad_verification_code' },
      )
    })
  }
}
