// Makes the class of the cache known to Parcel's workers.
require('@parcel/core').registerSerializableClass('VarveParcelCache', require('@varve/plugins/parcel').VarveParcelCache)
