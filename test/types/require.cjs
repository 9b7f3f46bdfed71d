// @ts-check
// A program that requires the packed package: no flag, no warning.
const { useCache } = require('./use.cjs')

useCache(require('varve')).then(() => console.log('ok'))
