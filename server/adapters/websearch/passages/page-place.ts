/** Where a page is about. */
export interface PagePlace {
  readonly latitude?: number
  readonly longitude?: number
  readonly name?: string
  readonly city?: string
  readonly state?: string
  readonly country?: string
  readonly postalCode?: string
}
