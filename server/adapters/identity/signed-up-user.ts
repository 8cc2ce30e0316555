/** What the rest of the service may know of an owner. */
export interface SignedUpUser {
  readonly id: string
  readonly email: string
  readonly name: string
}
