import { setDefaultTimeout } from 'bun:test'

// A shared machine may stand still for seconds; a test that hangs is still found.
setDefaultTimeout(60_000)
