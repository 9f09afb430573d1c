package main

import "slices"

var mutants = slices.Concat(ofModels, ofNewItems, ofConnections, ofDoors, ofBodies, ofStates,
	ofStores, ofSharedStores)
