"""A model of Keras on JAX."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np

layers = [keras.layers.Dense(512, activation="relu"), keras.layers.BatchNormalization(), keras.layers.Dense(10)]
model = keras.Sequential([keras.Input((64,)), *layers])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(np.ones((256, 64), "float32"), np.zeros(256, "int32"), batch_size=128, verbose=0)
print("learns")
