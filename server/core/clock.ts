/** The only source of time in the core. Milliseconds since the UNIX epoch. */
export interface Clock {
  now(): number
}
