import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto'

/** How a ceremony goes wrong; without any of it, as a browser and an authenticator at this origin would do it. */
export interface Ceremony {
  /** The page that asked the browser. */
  readonly origin: string
  /** The name that the authenticator signs for. Default: the host of the origin. */
  readonly rpId?: string
  /** Whether the authenticator verified its user. Default: yes. */
  readonly verifiesUser?: boolean
  /** The uses that the authenticator has counted. Default: none are counted. */
  readonly counter?: number
}

/** A passkey (WebAuthn, ES256, no attestation) without a browser: both ceremonies as JSON. */
export function softwarePasskey() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = randomBytes(16)
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const key = Buffer.concat([
    Buffer.from('a5010203262001215820', 'hex'),
    Buffer.from(x, 'base64url'),
    Buffer.from('225820', 'hex'),
    Buffer.from(y, 'base64url'),
  ])
  const clientData = (type: string, challenge: string, origin: string) =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
  const authenticatorData = ({ origin, rpId, verifiesUser = true, counter = 0 }: Ceremony, attested: Buffer) => {
    const counted = Buffer.alloc(4)
    counted.writeUInt32BE(counter)
    const flags = 0x01 | (verifiesUser ? 0x04 : 0) | (attested.length > 0 ? 0x40 : 0)
    const name = createHash('sha256')
      .update(rpId ?? new URL(origin).hostname)
      .digest()
    return Buffer.concat([name, Buffer.from([flags]), counted, attested])
  }
  const credential = (response: object) => ({
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    response,
    clientExtensionResults: {},
  })
  return {
    /** The answer to `generate-register-options`. */
    register(challenge: string, ceremony: Ceremony) {
      const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, key])
      const data = authenticatorData(ceremony, attested)
      const attestation = Buffer.concat([
        Buffer.from('a363666d74646e6f6e656761747453746d74a068617574684461746158', 'hex'),
        Buffer.from([data.length]),
        data,
      ])
      return credential({
        clientDataJSON: clientData('webauthn.create', challenge, ceremony.origin).toString('base64url'),
        attestationObject: attestation.toString('base64url'),
        transports: ['internal'],
      })
    },

    /** The answer to `generate-authenticate-options`. */
    authenticate(challenge: string, ceremony: Ceremony) {
      const client = clientData('webauthn.get', challenge, ceremony.origin)
      const data = authenticatorData(ceremony, Buffer.alloc(0))
      const signed = createSign('sha256').update(data).update(createHash('sha256').update(client).digest())
      return credential({
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signed.sign(privateKey).toString('base64url'),
      })
    },
  }
}
